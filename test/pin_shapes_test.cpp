// --shape: one size for inputs that may change theirs.
#include "lib/eval/pin_shapes.h"

#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "test/catch.h"

using namespace md;

namespace {

Model model_of(std::string_view text) {
  auto model = parse_model("m.txt", 1, text, dialect("tflite"));
  INFO((model ? std::string() : model.error().message));
  REQUIRE(model);
  return *std::move(model);
}

Shape shape_of(const Model& model, const std::string& name) {
  for (const Value& value : model.graphs[0].values)
    if (value.name == name) return value.shape;
  return {};
}

std::string message(const Result<Model>& result) { return result ? std::string() : result.error().message; }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Flattens all but the batch: the new shape is computed from SHAPE, as converters write it.
constexpr std::string_view kFlatten = R"(
input %x : f32[?, 3, 4]
const %zero : i32[1] = [0]
const %one : i32[1] = [1]
const %twelve : i32[] = [12]
%size = SHAPE(%x) : i32[3]
%batch = STRIDED_SLICE(%size, %zero, %one, %one) { shrink_axis_mask = 1 } : i32[]
%shape = PACK(%batch, %twelve) { axis = 0, values_count = 2 } : i32[2]
%flat = RESHAPE(%x, %shape) : f32[?, 12]
%y = RELU(%flat) : f32[?, 12]
output %y
)";

}  // namespace

TEST_CASE("a pinned input settles every shape behind it, also those that SHAPE computes", "[pin]") {
  const Model model = model_of(kFlatten);
  const auto pinned = pin_shapes(model, {{"x", {5, 3, 4}}});
  INFO(message(pinned));
  REQUIRE(pinned);
  CHECK(shape_of(*pinned, "x") == Shape{5, 3, 4});
  CHECK(shape_of(*pinned, "flat") == Shape{5, 12});
  CHECK(shape_of(*pinned, "y") == Shape{5, 12});
  CHECK(pinned->graphs[0].order == model.graphs[0].order);  // folding is for the rules, with their proofs
  for (std::size_t v = 0; v < model.graphs[0].values.size(); ++v)
    CHECK(pinned->graphs[0].values[v].is_constant() == model.graphs[0].values[v].is_constant());
}

TEST_CASE("a shape that the file does not allow is refused with the reason", "[pin]") {
  const Model model = model_of(kFlatten);
  CHECK(contains(message(pin_shapes(model, {{"xx", {5, 3, 4}}})), "did you mean"));
  CHECK(contains(message(pin_shapes(model, {{"x", {5, 12}}})), "expected 3 sizes"));
  CHECK(contains(message(pin_shapes(model, {{"x", {5, 3, 8}}})), "dimension 2 is fixed"));
  CHECK(contains(message(pin_shapes(model, {{"x", {0, 3, 4}}})), "1 or more"));
  CHECK(pin_shapes(model, {{"x", {5, 12}}}).error().kind == Error::Kind::usage);
}

TEST_CASE("an operator that holds a size of its own is named", "[pin]") {
  const Model model = model_of(R"(
input %x : f32[?, 4]
const %size : i32[2] = [2, 8]
%a = RESHAPE(%x, %size) : f32[?, 8]
output %a
)");
  const std::string text = message(pin_shapes(model, {{"x", {5, 4}}}));
  INFO(text);
  CHECK(contains(text, "node 0 RESHAPE (\"a\")"));
  CHECK(pin_shapes(model, {{"x", {4, 4}}}));
}
