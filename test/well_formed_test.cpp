// The gate behind the readers: every operator of the table, well-formed and then broken one thing at a time.
// What is refused says where; what is not refused is checked, mended and evaluated without a crash.
#include "lib/op/well_formed.h"

#include <fmt/format.h>

#include <functional>
#include <set>

#include "lib/diagnose/diagnose.h"
#include "lib/fp16/fp16_report.h"
#include "lib/graph/document.h"
#include "lib/graph/encode.h"
#include "lib/op/dialect.h"
#include "lib/op/ops.h"
#include "lib/op/text.h"
#include "test/catch.h"
#include "test/sanitizer.h"
#include "test/tflite_models.h"

namespace md {
namespace {

class ModelDocument : public Document {
 public:
  explicit ModelDocument(Model model)
      : Document(MappedFile::from_bytes("made.tflite", "")), model_(std::move(model)) {}
  const Model& model() const override { return model_; }
  WriteCapability capability() const override { return {true, ""}; }
  Status write(const Model&, ByteSink&) const override { return {}; }

 private:
  Model model_;
};

const RuleBook& book() {
  static const RuleBook rules = *RuleBook::load();
  return rules;
}

/// Operands that hold sizes, axes or indices.
bool is_index(std::string_view operand) {
  static const std::set<std::string_view> names = {"shape",
                                                   "axis",
                                                   "size",
                                                   "perm",
                                                   "paddings",
                                                   "block_shape",
                                                   "crops",
                                                   "begin",
                                                   "end",
                                                   "strides",
                                                   "multiples",
                                                   "dims",
                                                   "indices",
                                                   "ids",
                                                   "num",
                                                   "k",
                                                   "depth",
                                                   "sizes",
                                                   "output_shape",
                                                   "lookup",
                                                   "fft_length",
                                                   "dilations",
                                                   "dimensions",
                                                   "window_shape",
                                                   "lengths",
                                                   "window_strides",
                                                   "window_dilations",
                                                   "start_indices",
                                                   "max_output"};
  return names.count(operand) != 0;
}

ValueId add_value(Graph& graph, std::string name, DType dtype, Shape shape) {
  Value value;
  value.name = std::move(name), value.dtype = dtype, value.shape = std::move(shape);
  graph.values.push_back(std::move(value));
  return static_cast<ValueId>(graph.values.size() - 1);
}

/// A graph whose operator 0 is `spec` with everything that it may take, and a graph for it to call.
Model model_of(const OpSpec& spec, bool constant_indices) {
  Model model;
  model.dialect = &dialect("tflite");
  model.graphs.resize(2);
  Graph& main = model.graphs[0];
  Node node;
  node.op = spec.name, node.origin = 0;
  const auto operands = static_cast<std::size_t>(
      spec.variadic ? std::max<int>(spec.least_operands, static_cast<int>(spec.operands.size()))
                    : static_cast<int>(spec.operands.size()));
  const bool loop = spec.name == "WHILE" || spec.name == "STABLEHLO_WHILE";
  for (std::size_t i = 0; i < operands; ++i) {
    const std::size_t named = std::min(i, spec.operands.size() - 1);
    const bool index = is_index(spec.operands[named]);
    const int rank = std::max(spec.operand_specs[named].least_rank, index ? 1 : 0);
    Shape shape(static_cast<std::size_t>(rank ? rank : 4), 4);
    if (!index) shape[0] = 1;
    const ValueId id = add_value(main, fmt::format("x{}", i),
                                 index  ? DType::i32
                                 : loop ? DType::boolean
                                        : DType::f32,
                                 shape);
    if (index && constant_indices)
      main.value(id).constant = Constant::own(encode(DType::i32, {4}, std::vector<double>{0, 1, 2, 3}));
    else
      main.inputs.push_back(id);
    node.inputs.push_back(id);
  }
  const int results =
      std::max(spec.least_results, spec.most_results == any_number && spec.least_results == 0 ? 1 : 0);
  for (int i = 0; i < results; ++i) {
    const bool like = spec.keeps_kind && !node.inputs.empty();
    node.outputs.push_back(add_value(main, fmt::format("y{}", i),
                                     like ? main.value(node.inputs[0]).dtype : DType::f32, {1, 4, 4, 4}));
    main.outputs.push_back(node.outputs.back());
  }
  if (main.outputs.empty())
    main.outputs = {add_value(main, "z", DType::f32, {1})}, main.inputs.push_back(main.outputs[0]);
  for (const AttributeSpec& attribute : spec.attributes) {
    AttrValue value = attribute.usual;
    if (attribute.role == AttributeRole::positive) value = std::int64_t{1};
    if (attribute.name.find("subgraph") != std::string::npos && std::holds_alternative<std::int64_t>(value))
      value = std::int64_t{1}, node.subgraphs.push_back(1);
    node.attrs.set(attribute.name, value);
  }
  main.nodes.push_back(std::move(node));
  main.order = {0};
  Graph& called = model.graphs[1];
  const ValueId in = add_value(called, "in", loop ? DType::boolean : DType::f32, {1, 4, 4, 4});
  called.inputs = called.outputs = {in};
  for (Graph& graph : model.graphs) graph.index();
  return model;
}

struct Break {
  std::string what;
  std::function<void(Model&)> apply;
  bool refused = false;  ///< must be
};

std::vector<Break> breaks_of(const OpSpec& spec) {
  std::vector<Break> breaks = {{"nothing", [](Model&) {}, false}};
  const auto node = [&](std::string what, std::function<void(Graph&, Node&)> change, bool refused = false) {
    breaks.push_back(
        {std::move(what), [change](Model& m) { change(m.graphs[0], m.graphs[0].nodes[0]); }, refused});
  };
  const bool free_results = spec.most_results == any_number;
  node(
      "no operand", [](Graph&, Node& n) { n.inputs.clear(); }, spec.least_operands > 0);
  node("an operand less", [](Graph&, Node& n) {
    if (!n.inputs.empty()) n.inputs.pop_back();
  });
  node(
      "an operand more",
      [](Graph&, Node& n) { n.inputs.push_back(n.inputs.empty() ? none_id : n.inputs[0]); }, !spec.variadic);
  for (std::size_t i = 0; i < spec.operands.size(); ++i)
    node(
        fmt::format("operand {} absent", i),
        [i](Graph&, Node& n) {
          if (i < n.inputs.size()) n.inputs[i] = none_id;
        },
        !spec.operand_specs[i].optional && !spec.variadic);
  node(
      "no result", [](Graph& g, Node& n) { n.outputs.clear(), g.outputs = g.inputs; },
      spec.least_results > 0);
  node(
      "result absent",
      [](Graph& g, Node& n) {
        if (!n.outputs.empty()) n.outputs[0] = none_id, g.outputs = g.inputs;
      },
      spec.least_results > 0 && !free_results);
  node(
      "a result more", [](Graph& g, Node& n) { n.outputs.push_back(add_value(g, "more", DType::f32, {1})); },
      !free_results && spec.least_results == spec.most_results);
  for (const DType dtype : {DType::c64, DType::i8, DType::f16, DType::boolean, DType::string, DType::i64})
    node(fmt::format("result {}", name(dtype)), [dtype](Graph& g, Node& n) {
      for (const ValueId v : n.outputs) g.value(v).dtype = dtype;
    });
  for (const DType dtype : {DType::c64, DType::i8, DType::i4, DType::string})
    node(fmt::format("operands {}", name(dtype)), [dtype](Graph& g, Node& n) {
      for (const ValueId v : n.inputs)
        if (!g.value(v).is_constant()) g.value(v).dtype = dtype;
    });
  const auto shapes = [&](std::string what, const Shape& shape) {
    node("results of " + what, [shape](Graph& g, Node& n) {
      for (const ValueId v : n.outputs) g.value(v).shape = shape;
    });
    node("operands of " + what, [shape](Graph& g, Node& n) {
      for (const ValueId v : n.inputs)
        if (!g.value(v).is_constant()) g.value(v).shape = shape;
    });
  };
  shapes("no dimension", {}), shapes("rank 1", {3}), shapes("zero elements", {0, 4, 0, 4}),
      shapes("rank 6", {1, 2, 1, 2, 1, 2});
  shapes("unknown size", {-1, -1, -1, -1}), shapes("absurd size", {2147483647, 2147483647, 2147483647});
  shapes("a gigabyte", {1, 1024, 1024, 256});
  for (const AttributeSpec& attribute : spec.attributes) {
    const std::string key = attribute.name;
    const bool guarded = attribute.role == AttributeRole::positive;
    node(
        key + " missing", [key](Graph&, Node& n) { n.attrs.erase(key); }, !attribute.ignored);
    if (std::holds_alternative<std::int64_t>(attribute.schema_default))
      for (const std::int64_t number :
           {std::int64_t{0}, std::int64_t{-1}, std::int64_t{-2147483648}, std::int64_t{2147483647}})
        node(
            fmt::format("{} {}", key, number), [key, number](Graph&, Node& n) { n.attrs.set(key, number); },
            guarded && number < 1);
    if (attribute.enumeration)
      node(
          key + " unknown",
          [key](Graph&, Node& n) {
            n.attrs.set(key, EnumValue{99, "99"});
          },
          !attribute.ignored);
    if (std::holds_alternative<std::vector<std::int64_t>>(attribute.schema_default))
      node(key + " of zeros", [key](Graph&, Node& n) {
        n.attrs.set(key, std::vector<std::int64_t>{0, 0, -1, 99});
      });
  }
  return breaks;
}

/// Every command's work on a model in memory; nothing to compare, it must come back.
void use(const Model& model) {
  const ModelDocument document(model);
  DiagnoseRequest request;
  request.document = &document;
  request.model_path = "made.tflite";
  request.rules = &book();
  request.targets = {"litert-gpu"};
  request.options.apply = request.options.unsafe_fixes = true;
  request.options.samples = 1;
  request.options.max_rounds = 2;
  const auto outcome = diagnose(request);
  CHECK((outcome.has_value() || !outcome.error().message.empty()));
  Fp16Options options;
  options.inputs.samples = 1;
  const Fp16Report report = fp16_report(model, 0, options);
  CHECK_FALSE(report.summary.empty());
}

}  // namespace

TEST_CASE("every operator of the table broken in every way is refused or survived", "[gate]") {
  std::size_t number = 0;
  for (const std::string& op : op_names(dialect("tflite"))) DYNAMIC_SECTION(op) {
      const OpSpec& spec = *find_op(dialect("tflite"), op);
      for (const bool constants : {false, true}) {
        const Model good = model_of(spec, constants);
        INFO(op);
        CHECK(malformed(good).value_or("") == "");
        for (const Break& broken : breaks_of(spec)) {
          Model model = good;
          broken.apply(model);
          for (Graph& graph : model.graphs) graph.index();
          INFO(op << " with " << broken.what);
          const auto wrong = malformed(model);
          if (broken.refused) CHECK(wrong.has_value());
          if (wrong) {
            CHECK((wrong->find("operator 0 (" + op + ")") != std::string::npos ||
                   wrong->find("tensor") != std::string::npos));
            CHECK((wrong->find("expected") != std::string::npos ||
                   wrong->find("but there are") != std::string::npos));
            CHECK(wrong->find('\n') == std::string::npos);
          } else if (test::damage_stride == 1 || number++ % test::damage_stride == 0) {
            use(model);
          }
        }
      }
    }
}

TEST_CASE("what converters write and looks odd is well-formed", "[gate]") {
  const auto made = [](std::string_view text) { return parse_model("text", 1, text, dialect("tflite")); };
  for (const char* text : {
           "input %x : f32[1, 8, 8, 3]\nconst %w : f32[4, 3, 3, 3] = random(1)\n%y = CONV_2D(%x, %w, _) : "
           "f32[1, 8, 8, 4]\noutput %y",
           "input %x : f32[1, 8, 8, 3]\nconst %w : f32[4, 3, 3, 3] = random(1)\n%y = CONV_2D(%x, %w) : "
           "f32[1, 8, 8, 4]\noutput %y",
           "input %x : f32[0, 4]\n%y = RELU(%x) : f32[0, 4]\noutput %y",
           "input %x : f32[?, 4]\nconst %w : f32[3, 4] = random(1)\n%y = FULLY_CONNECTED(%x, %w, _) : f32[?, "
           "3]\noutput %y",
           "input %x : f32[1, 4]\n%y = CUSTOM \"Own\"(%x, _) : f32[1, 4]\noutput %y",
           "input %x : f32[4]\n%y = RESHAPE(%x) { new_shape = [2, 2] } : f32[2, 2]\noutput %y",
           "input %x : f32[4, 4]\n%a = RFFT2D(%x, %n) : c64[4, 3]\n%y = COMPLEX_ABS(%a) : f32[4, 3]\nconst "
           "%n : i32[2] = [4, 4]\noutput %y",
       }) {
    const auto model = made(text);
    if (!model) continue;  // the text form is not what is tested
    INFO(text);
    CHECK(malformed(*model).value_or("") == "");
  }
}

TEST_CASE("the reader's message names file, operator and field", "[gate]") {
  // The file of test/tflite_models.h, with its ADD turned into an operator with two results.
  const auto document = test::open_bytes(test::make_tflite({}));
  Model model = document->model();
  model.graphs[0].nodes[0].inputs.pop_back();
  for (Graph& graph : model.graphs) graph.index();
  MemorySink sink;
  REQUIRE(document->write(model, sink).has_value());
  const auto opened = open_document(MappedFile::from_bytes("dir/broken.tflite", sink.bytes));
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().kind == Error::Kind::input);
  CHECK(opened.error().message.find(
            "dir/broken.tflite: subgraph 0 operator 0 (ADD): it has 1 operands, expected 2") == 0);
}

TEST_CASE("hand-made files with every oddity of real ones pass the gate", "[gate]") {
  for (const auto& [what, recipe] : test::all_recipes()) {
    INFO(what);
    const auto opened = open_document(MappedFile::from_bytes("odd.tflite", test::make_tflite(recipe)));
    CHECK((opened ? "" : opened.error().message) == "");
  }
}

}  // namespace md
