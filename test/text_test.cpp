#include "lib/op/text.h"
#include "lib/op/dialect.h"

#include <random>

#include "lib/format/tflite/operators.h"
#include "lib/graph/encode.h"
#include "lib/op/infer.h"
#include "lib/op/lexer.h"
#include "lib/op/ops.h"
#include "test/catch.h"

using namespace md;

namespace {

Model parsed(std::string_view text, const Dialect& dialect = md::dialect("tflite")) {
  auto model = parse_model("t.txt", 1, text, dialect);
  INFO((model ? std::string() : model.error().message));
  REQUIRE(model);
  return *std::move(model);
}

std::string error_of(std::string_view text) {
  const auto model = parse_model("t.txt", 1, text, dialect("tflite"));
  return model ? "" : model.error().message;
}

/// A random graph with every kind of thing that the text form writes.
Graph random_graph(std::mt19937& random) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const DType types[] = {DType::f32,     DType::f16, DType::i8,   DType::i32, DType::i64,
                         DType::boolean, DType::u8,  DType::bf16, DType::i4,  DType::f64};
  const char* names[] = {"a", "b/c.d;1", "with blank", "",          "a",          "quote\"d",
                         "0", "é",       "x%y",        "line\nend", "\x1b[31m\t", "\xe2\x80\xae\xff"};
  Graph g;
  const auto add_value = [&](bool constant) {
    Value v;
    v.name = names[pick(12)];
    v.dtype = types[pick(10)];
    for (int d = pick(4); d > 0; --d) v.shape.push_back(pick(5) ? pick(4) : constant ? 2 : dynamic_dim);
    if (!v.shape.empty() && pick(6) == 0 && !constant)
      v.shape[0] = dynamic_dim, v.dim_names.assign(v.shape.size(), ""), v.dim_names[0] = "batch";
    if (pick(3) == 0) {
      Quantization q;
      q.scale = {0.1f, 1.0f / 3}, q.zero_point = {-3, 7}, q.axis = pick(3);
      if (pick(2)) q.scale.resize(1), q.zero_point.resize(1);
      if (pick(2)) q.min = {-1.5f}, q.max = {2.5f};
      v.quantization = q;
    }
    if (constant) {
      std::vector<double> numbers(static_cast<std::size_t>(*element_count(v.shape)));
      for (double& n : numbers) n = pick(9) == 0 ? -0.0 : pick(9) == 0 ? HUGE_VAL : (pick(2000) - 1000) / 7.0;
      v.constant = Constant::own(encode(v.dtype, v.shape, numbers));
    } else {
      v.is_variable = pick(8) == 0;
    }
    g.values.push_back(v);
    return static_cast<ValueId>(g.values.size() - 1);
  };
  std::vector<ValueId> known = {add_value(false), add_value(true)};
  g.values[0].is_variable = false;
  g.inputs = {known[0]};
  const char* ops[] = {"RELU", "ADD", "CONV_2D", "SPLIT", "CUSTOM", "SOFTMAX", "STABLEHLO_COMPOSITE", "IF"};
  for (int n = 1 + pick(8); n > 0; --n) {
    if (pick(2)) known.push_back(add_value(true));
    Node node;
    node.op = ops[pick(8)];
    node.version = 1 + pick(3);
    if (node.op == "CUSTOM" || node.op == "STABLEHLO_COMPOSITE") node.custom = "my.op \"x\"";
    if (node.op == "CUSTOM") node.attrs.set("custom_options", Blob{{0, 255, 16}});
    if (node.op == "IF") node.subgraphs = {1, 2};
    if (node.op == "CONV_2D")
      node.attrs.set("padding", EnumValue{pick(2), pick(2) ? "VALID" : "SAME"}),
          node.attrs.set("stride_w", std::int64_t{2});
    if (node.op == "SOFTMAX") node.attrs.set("beta", pick(2) ? 0.1 : 3.0);
    for (int i = pick(4); i >= 0; --i)
      node.inputs.push_back(pick(6) ? known[random() % known.size()] : none_id);
    for (int i = pick(3); i >= 0; --i) {
      const ValueId made = add_value(false);
      g.value(made).is_variable = false;
      node.outputs.push_back(made);
      known.push_back(made);
    }
    if (node.op == "SPLIT") node.attrs.set("num_splits", static_cast<std::int64_t>(node.outputs.size()));
    g.order.push_back(static_cast<NodeId>(g.nodes.size()));
    g.nodes.push_back(node);
  }
  g.outputs = {known.back(), known[random() % known.size()]};
  g.index();
  return g;
}

}  // namespace

TEST_CASE("printing and parsing gives the same graph", "[text]") {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    const Graph graph = random_graph(random);
    const std::string text = print(graph, dialect("tflite"));
    INFO(text);
    const auto model = parse_model("t.txt", 1, text, dialect("tflite"));
    INFO((model ? std::string() : model.error().message));
    REQUIRE(model);
    REQUIRE(first_difference(graph, model->graphs[0], dialect("tflite")).value_or("") == "");
    REQUIRE(print(model->graphs[0], dialect("tflite")).size() > 0);
  }
}

TEST_CASE("the text of a model reads back", "[text]") {
  const std::string text = R"(input %x : f32[1, 4]
const %axis : i32[] = [1]
const %s : i32[2] = [4, 1]
%a, %b = SPLIT@2(%axis, %x) : f32[1, 2], f32[1, 2]
%y = ADD(%a, %b) { fused_activation_function = RELU } : f32[1, 2]
%z = CUSTOM "MyOp" (%y, _) : i8[2, 1] q(0.5, -3)
output %z
)";
  const Model model = parsed(text);
  const Graph& g = model.graphs[0];
  REQUIRE(g.order.size() == 3);
  REQUIRE(g.node(0).version == 2);
  REQUIRE(g.node(0).attrs.integer("num_splits") == 2);
  REQUIRE(g.node(1).attrs.text("fused_activation_function") == "RELU");
  REQUIRE(g.node(2).inputs[1] == none_id);
  REQUIRE(g.value(g.outputs[0]).quantization->zero_point == std::vector<std::int64_t>{-3});
  std::string expected = text;
  expected.erase(expected.find("const %s"),
                 std::string("const %s : i32[2] = [4, 1]\n").size());  // nothing reads it
  REQUIRE(print(g, dialect("tflite")) ==
          "input %x : f32[1, 4]\nconst %axis : i32[] = [1]\n%a, %b = SPLIT@2(%axis, %x) { num_splits = 2 } : "
          "f32[1, 2], f32[1, 2]\n" +
              expected.substr(expected.find("%y")));
}

TEST_CASE("errors in a text name the line and the nearest word", "[text]") {
  REQUIRE(error_of("input %x : f32[4]\n%y = RELUU(%x) : f32[4]\n") ==
          "t.txt:2: unknown operator RELUU (did you mean \"RELU\"?)");
  REQUIRE(error_of("%y = RELU(%x) : f32[4]") == "t.txt:1: %x is not defined above");
  REQUIRE(error_of("input %x : f99[4]") == "t.txt:1: expected a type such as f32[1, 4], not \"f99\"");
  REQUIRE(error_of("input %x : f32[4]\ninput %x : f32[4]") == "t.txt:2: %x is defined twice");
  REQUIRE(error_of("const %c : f32[3] = [1, 2]") == "t.txt:1: f32[3] has 3 elements, but 2 are given");
  REQUIRE(error_of("input %x : f32[4]\n%y = SOFTMAX(%x) { betta = 1 }") ==
          "t.txt:2: SOFTMAX has no attribute betta (did you mean \"beta\"?)");
  REQUIRE(error_of("input %x : f32[4]\n%y = ADD(%x, %x) { fused_activation_function = RELUX }") ==
          "t.txt:2: RELUX is no value of fused_activation_function (did you mean \"RELU\"?)");
  REQUIRE(
      error_of("input %x : f32[4]\n%y = CUSTOM \"A\"(%x)").starts_with("t.txt:2: CUSTOM: no type is known"));
  REQUIRE(error_of("input %x : f32[4").starts_with("t.txt:1: expected \",\""));
  REQUIRE(error_of("input %\"x : f32[4]\n\n").starts_with("t.txt:1: this text has no closing quote"));
  REQUIRE(error_of("const %c : f32[99999999999] = splat(1)")
              .starts_with("t.txt:1: 99999999999 elements are too many"));
  REQUIRE(error_of("hello") ==
          "t.txt:1: expected input, const, variable, value, output, graph or a statement, not \"hello\"");
}

TEST_CASE("no text makes the parser crash", "[text]") {
  const std::string good =
      "input %x : f32[1, 4] q([0.5], [1], axis = 0)\nconst %c : i32[1] = [1]\n%a, %b = SPLIT@2(%c, %x) { "
      "num_splits = 2 } : f32[1], f32[1]\noutput %a\n";
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string text = good.substr(0, random() % good.size());
    for (int k = 0; k < 3 && !text.empty(); ++k)
      text[random() % text.size()] = "%[](){}=,:\"?_@1.e-#q"[random() % 20];
    const auto model = parse_model("t", 1, text, dialect("tflite"));
    INFO(text);
    CHECK((model || model.error().message.starts_with("t:")));  // read, or refused with its place
  }
}

TEST_CASE("types follow from the operands", "[infer]") {
  const Model model = parsed(R"(input %x : f32[2, 6, 8, 3]
const %axes : i32[2] = [1, 2]
const %perm : i32[4] = [0, 3, 1, 2]
const %flat : i32[2] = [2, -1]
const %begin : i32[4] = [0, 1, 0, 0]
const %end : i32[4] = [2, 6, 8, 3]
const %size : i32[4] = [2, -1, 4, 3]
const %stride : i32[4] = [1, 2, 3, 1]
const %w : f32[16, 3, 3, 3] = splat(0)
const %bias : f32[16] = splat(0)
const %pads : i32[4, 2] = [0, 0, 1, 2, 0, 0, 0, 0]
const %idx : i32[3] = [0, 2, 1]
const %m : f32[5, 144] = splat(0)
const %cond : bool[1, 6, 8, 1] = splat(1)
%mean = MEAN(%x, %axes) { keep_dims = true }
%max = REDUCE_MAX(%x, %axes)
%t = TRANSPOSE(%x, %perm)
%r = RESHAPE(%x, %flat)
%s = SLICE(%x, %begin, %size)
%ss = STRIDED_SLICE(%x, %begin, %end, %stride)
%sh = STRIDED_SLICE(%x, %begin, %end, %stride) { shrink_axis_mask = 2 }
%c = CONV_2D(%x, %w, %bias) { stride_h = 2, stride_w = 2 }
%v = CONV_2D(%x, %w, %bias) { padding = VALID, dilation_h_factor = 2 }
%p = PAD(%x, %pads)
%g = GATHER(%x, %idx) { axis = 1 }
%fc = FULLY_CONNECTED(%r, %m, _)
%sum = ADD(%x, %mean)
%sel = SELECT_V2(%cond, %x, %mean)
%cat = CONCATENATION(%x, %x, %p) { axis = 1 }
%pk = PACK(%max, %max) { axis = 1 }
%gt = GREATER(%x, %mean)
%int = CAST(%x) { out_data_type = INT32 }
%pool = MAX_POOL_2D(%x) { filter_height = 2, filter_width = 2, stride_h = 2, stride_w = 2, padding = VALID }
)");
  const auto shape = [&](std::string_view name) {
    for (const Value& v : model.graphs[0].values)
      if (v.name == name) return shape_text(v.shape);
    return std::string("missing");
  };
  CHECK(shape("mean") == "2x1x1x3");
  CHECK(shape("max") == "2x3");
  CHECK(shape("t") == "2x3x6x8");
  CHECK(shape("r") == "2x144");
  CHECK(shape("s") == "2x5x4x3");
  CHECK(shape("ss") == "2x3x3x3");
  CHECK(shape("sh") == "2x3x3");
  CHECK(shape("c") == "2x3x4x16");
  CHECK(shape("v") == "2x2x6x16");
  CHECK(shape("p") == "2x9x8x3");
  CHECK(shape("g") == "2x3x8x3");
  CHECK(shape("fc") == "2x5");
  CHECK(shape("sum") == "2x6x8x3");
  CHECK(shape("sel") == "2x6x8x3");
  CHECK(shape("cat") == "2x21x8x3");
  CHECK(shape("pk") == "2x2x3");
  CHECK(shape("pool") == "2x3x4x3");
  CHECK(model.graphs[0].node(17).attrs.text("out_data_type") == "INT32");
}

TEST_CASE("the operator table is well-formed", "[ops]") {
  const auto names = op_names(dialect("tflite"));
  REQUIRE(names.size() == 210);
  for (const std::string& name : names) REQUIRE(find_op(dialect("tflite"), name)->name == name);
  REQUIRE_FALSE(find_op(dialect("tflite"), "NO_SUCH"));
  const OpSpec& add = *find_op(dialect("tflite"), "ADD");
  REQUIRE(add.commutative);
  REQUIRE(std::get<EnumValue>(add.find("fused_activation_function")->usual).name == "NONE");
  REQUIRE(find_op(dialect("tflite"), "CONV_2D")->required == 2);
  REQUIRE(std::get<double>(find_op(dialect("tflite"), "SOFTMAX")->find("beta")->usual) == 1.0);
  REQUIRE(tflite_tensor_type(DType::boolean)->name == "BOOL");
  REQUIRE(dtype_of_tflite(9) == DType::i8);
}
