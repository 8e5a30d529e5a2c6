// ONNX's operators as rows, their inference, and what the builder writes for each operator set.
#include <algorithm>

#include "lib/edit/apply.h"
#include "lib/eval/evaluator.h"
#include "lib/format/onnx/builder.h"
#include "lib/format/onnx/dialect.h"
#include "lib/format/onnx/operators.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "test/catch.h"

using namespace md;

namespace {

Model model_of(std::string_view text, int set = 21) {
  auto model = parse_model("test", 1, text, dialect_onnx);
  INFO((model ? std::string() : model.error().message));
  REQUIRE(model);
  model->operator_sets = {{"", set}};
  return *model;
}

const Value& named(const Graph& graph, std::string_view name) {
  const auto at =
      std::find_if(graph.values.begin(), graph.values.end(), [&](const Value& v) { return v.name == name; });
  REQUIRE(at != graph.values.end());
  return *at;
}

/// The nodes that a builder wrote, as "Slice(3) Cast(1){to}": operands counted, attributes named.
std::string written(const Patch& patch) {
  std::string out;
  for (const Node& node : patch.new_nodes) {
    out += (out.empty() ? "" : " ") + node.op + "@" + std::to_string(node.version) + "(" +
           std::to_string(node.inputs.size()) + ")";
    for (const auto& [name, value] : node.attrs) out += "{" + name + "}";
  }
  return out;
}

template <class F>
std::string built(int set, F&& build) {
  const Model model = model_of("input %x : f32[2, 3, 4]\n%y = Relu(%x) : f32[2, 3, 4]\noutput %y\n");
  PatchBuilder patch(model.graphs[0], 0, "test");
  OnnxBuilder builder(patch, set);
  build(builder, model.graphs[0].inputs[0]);
  return written(patch.patch());
}

}  // namespace

TEST_CASE("an operator has the row of the version that its set asks for", "[onnx]") {
  CHECK(version_in_set(dialect_onnx, "Relu", 17) == 14);
  CHECK(version_in_set(dialect_onnx, "Softmax", 12) == 11);
  CHECK(version_in_set(dialect_onnx, "Gelu", 19) == std::nullopt);
  CHECK(version_in_set(dialect_onnx, "Upsample", 9) == 9);
  CHECK(version_in_set(dialect_onnx, "Upsample", 10) == std::nullopt);  // it left
  CHECK(version_in_set(dialect_onnx, "com.microsoft.Gelu", 1) == 1);
  const OpSpec* clip = onnx_row("Clip", 12);
  REQUIRE(clip);
  CHECK(clip->operands == std::vector<std::string>{"input", "min", "max"});
  CHECK(clip->required == 1);
  const std::vector<DType>& types = clip->operand_specs[0].types;
  CHECK(std::count(types.begin(), types.end(), DType::i64) == 1);
  const std::vector<DType>& before = onnx_row("Clip", 11)->operand_specs[0].types;
  CHECK(std::count(before.begin(), before.end(), DType::i64) == 0);
}

TEST_CASE("rows are ordered, complete and say what operators are", "[onnx]") {
  const std::vector<OpSpec>& rows = onnx_ops().ops;
  CHECK(rows.size() > 700);
  CHECK(std::is_sorted(rows.begin(), rows.end(), [](const OpSpec& a, const OpSpec& b) {
    return a.name != b.name ? a.name < b.name : a.since < b.since;
  }));
  for (const OpSpec& row : rows) {
    INFO(row.name << " " << row.since);
    CHECK(row.operands.size() == row.operand_specs.size());
    if (row.unary) CHECK(row.operands.size() == 1);
  }
  CHECK(row_of(dialect_onnx, "Transpose")->moves());
  CHECK(row_of(dialect_onnx, "Add")->commutative);
  CHECK(row_of(dialect_onnx, "Conv")->primitive == Primitive::window);
  CHECK(row_of(dialect_onnx, "RandomNormal")->has_state());
}

TEST_CASE("numbers of element types go both ways", "[onnx]") {
  for (std::int64_t n = 1; n <= 26; ++n) {
    const auto dtype = dtype_of_onnx(n);
    REQUIRE(dtype);
    CHECK(onnx_data_type(*dtype) == n);
  }
  for (const std::int64_t n : {-1, 0, 27, 1000}) CHECK_FALSE(dtype_of_onnx(n));
}

TEST_CASE("sizes that a graph computes reach the shapes behind them", "[onnx]") {
  Model model = model_of(R"(
input %x : f32[?, 12, 64]
const %zero : i64[1] = [0]
const %one : i64[1] = [1]
const %rest : i64[1] = [-1]
const %heads : i64[1] = [4]
%s = Shape(%x) : i64[3]
%b = Slice(%s, %zero, %one) : i64[1]
%to = Concat(%b, %heads, %rest) { axis = 0 } : i64[3]
value %dead : f32[1]
%y = Reshape(%x, %to) : f32[1, 1, 1]
output %y
)");
  for (Value& value : model.graphs[0].values)
    if (value.name == "y" || value.name == "s" || value.name == "b" || value.name == "to")
      value.dtype = DType::unknown, value.shape.clear();
  CHECK(complete_onnx_types(model).empty());
  CHECK(named(model.graphs[0], "y").dtype == DType::f32);
  CHECK(named(model.graphs[0], "y").shape == Shape{-1, 4, -1});
  CHECK(named(model.graphs[0], "to").shape == Shape{3});
}

TEST_CASE("a declared type that the operator does not give is replaced and told", "[onnx]") {
  Model model =
      model_of("input %x : f32[2, 3]\n%y = Transpose(%x) { perm = [1, 0] } : f32[2, 3]\noutput %y\n");
  const auto stale = complete_onnx_types(model);
  REQUIRE(stale.size() == 1);
  CHECK(stale[0].shape == Shape{2, 3});
  CHECK(named(model.graphs[0], "y").shape == Shape{3, 2});
}

TEST_CASE("operands that do not go together are a contradiction, unknown ones are not", "[onnx]") {
  Node node;
  node.op = "MatMul";
  node.version = 13;
  Value a, b;
  a.dtype = b.dtype = DType::f32;
  a.shape = {2, 3}, b.shape = {4, 5};
  const Value* operands[] = {&a, &b};
  const auto wrong = infer_onnx_types(node, operands, 1);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().contradiction);
  b.unranked = true;
  const auto unknown = infer_onnx_types(node, operands, 1);
  REQUIRE_FALSE(unknown);
  CHECK_FALSE(unknown.error().contradiction);
}

TEST_CASE("the builder writes the form of the file's operator set", "[onnx]") {
  const auto squeeze = [](OnnxBuilder& b, ValueId x) { b.unsqueeze(x, {0}); };
  CHECK(built(12, squeeze) == "Unsqueeze@11(1){axes}");
  CHECK(built(13, squeeze) == "Unsqueeze@13(2)");
  const auto sum = [](OnnxBuilder& b, ValueId x) { b.reduce("ReduceSum", x, {1}, true); };
  CHECK(built(12, sum) == "ReduceSum@11(1){keepdims}{axes}");
  CHECK(built(13, sum) == "ReduceSum@13(2){keepdims}");
  const auto mean = [](OnnxBuilder& b, ValueId x) { b.reduce("ReduceMean", x, {1}, true); };
  CHECK(built(17, mean) == "ReduceMean@13(1){keepdims}{axes}");
  CHECK(built(18, mean) == "ReduceMean@18(2){keepdims}");
  const auto clip = [](OnnxBuilder& b, ValueId x) { b.clip(x, 0, 6); };
  CHECK(built(10, clip) == "Clip@6(1){max}{min}");
  CHECK(built(13, clip) == "Clip@13(3)");
  const auto slice = [](OnnxBuilder& b, ValueId x) { b.slice(x, {0}, {1}, {2}); };
  CHECK(built(9, slice) == "Slice@1(1){axes}{ends}{starts}");
  CHECK(built(13, slice) == "Slice@13(4)");
  const auto softmax = [](OnnxBuilder& b, ValueId x) { b.softmax(x, 1); };
  CHECK(built(12, softmax) == "Transpose@1(1){perm} Softmax@11(1){axis} Transpose@1(1){perm}");
  CHECK(built(13, softmax) == "Softmax@13(1){axis}");
}

TEST_CASE("what the builder adds has the type that the operator gives it", "[onnx]") {
  const Model model = model_of("input %x : f32[2, 3, 4]\n%y = Relu(%x) : f32[2, 3, 4]\noutput %y\n");
  PatchBuilder patch(model.graphs[0], 0, "test");
  OnnxBuilder b(patch, 17);
  const ValueId x = model.graphs[0].inputs[0];
  CHECK(b.shape(b.transpose(x, {2, 0, 1})) == Shape{4, 2, 3});
  CHECK(b.dtype(b.cast(x, DType::i64)) == DType::i64);
  const auto parts = b.split(x, {1, 3}, -1);
  REQUIRE(parts.size() == 2);
  CHECK(b.shape(parts[1]) == Shape{2, 3, 3});
  CHECK(b.int64s({1, 2}) == b.int64s({1, 2}));
  CHECK(b.shape(b.reduce("ReduceMax", x, {1}, false)) == Shape{2, 4});
}

TEST_CASE("both meanings of Softmax are evaluated, each in its versions", "[onnx]") {
  for (const int version : {11, 13}) {
    const Model model = model_of("input %x : f32[1, 2, 2]\n%y = Softmax@" + std::to_string(version) +
                                 "(%x) { axis = 1 } : f32[1, 2, 2]\noutput %y\n");
    const std::vector<double> zeros(4, 0);
    const Tensor x = Tensor::of(DType::f32, {1, 2, 2}, zeros);
    const auto out = evaluate(model, 0, std::span<const Tensor>(&x, 1));
    REQUIRE(out);
    CHECK((*out)[0].number(0) ==
          Approx(version == 11 ? 0.25 : 0.5));  // over all behind the axis, or along it
  }
}

TEST_CASE("sums overflow in the arithmetic of fp16 as they do on a device", "[onnx]") {
  const Model model =
      model_of("input %x : f32[1, 4]\n%y = ReduceSum(%x) { keepdims = 0 } : f32[]\noutput %y\n");
  const std::vector<double> numbers(4, 30000);
  const Tensor x = Tensor::of(DType::f32, {1, 4}, numbers);
  EvaluateOptions options;
  options.mode.arithmetic = Arithmetic::f16_accumulate;
  const auto out = evaluate(model, 0, std::span<const Tensor>(&x, 1), options);
  REQUIRE(out);
  CHECK(std::isinf((*out)[0].number(0)));
}

TEST_CASE("small floats round as ONNX's tables say", "[onnx]") {
  CHECK(round_to_small_float(DType::f8e4m3fn, 1000, true) == 448);
  CHECK(std::isnan(round_to_small_float(DType::f8e4m3fn, 1000, false)));
  CHECK(std::isinf(round_to_small_float(DType::f8e5m2, 1e6, false)));
  CHECK(round_to_small_float(DType::f4e2m1, 100, false) == 6);
  for (const DType type :
       {DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz, DType::f8e5m2fnuz, DType::f8e8m0, DType::f4e2m1})
    for (int code = 0; code < (1 << bit_width(type)); ++code) {
      const double number = small_float_of(type, static_cast<std::uint8_t>(code));
      if (std::isnan(number)) continue;
      INFO(name(type) << " " << code);
      CHECK(small_float_code(type, number) == code);
    }
}

TEST_CASE("hostile shapes end in an error, not in a crash", "[onnx]") {
  const Tensor x = Tensor::of(DType::f32, {2, 2}, std::vector<double>(4, 1));
  for (const std::string_view node : {
           "const %s : i64[2] = [9223372036854775807, 9223372036854775807]\n%y = Reshape(%x, %s) : f32[2, 2]",
           "const %s : i64[2] = [-5, 2]\n%y = Expand(%x, %s) : f32[2, 2]",
           "const %s : i64[2] = [9223372036854775807, 2]\n%y = Tile(%x, %s) : f32[2, 2]",
           "const %s : i64[4] = [9223372036854775807, 0, 9223372036854775807, 0]\n%y = Pad(%x, %s) : f32[2, "
           "2]",
           "const %s : i64[1] = [7]\n%y = Gather(%x, %s) : f32[2, 2]",
           "const %s : i64[1] = [3]\n%y, %z = TopK(%x, %s) : f32[2, 2], i64[2, 2]",
           "%y = Transpose(%x) { perm = [1, 1] } : f32[2, 2]",
           "%y = Conv(%x, %x) : f32[2, 2]",
           "%y = MaxPool(%x) { kernel_shape = [0, 0] } : f32[2, 2]",
           "%y = Split(%x) { axis = 9 } : f32[2, 2]",
           "%y = LSTM(%x, %x, %x) : f32[2, 2]",
           "%y = Einsum(%x) { equation = \"ij->k\" } : f32[2, 2]",
       }) {
    INFO(node);
    const Model model = model_of("input %x : f32[2, 2]\n" + std::string(node) + "\noutput %y\n");
    CHECK_FALSE(evaluate(model, 0, std::span<const Tensor>(&x, 1)));
  }
}
