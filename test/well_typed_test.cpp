// Types of a rewritten graph: what a patch must not leave behind.
#include "lib/edit/well_typed.h"

#include "lib/edit/apply.h"
#include "lib/edit/builder.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "test/catch.h"

using namespace md;

namespace {

Model parse(const std::string& text, const Dialect& dialect = md::dialect("tflite")) {
  auto model = parse_model("test", 1, text, dialect);
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return *model;
}

Model patched(const Model& model, PatchBuilder& builder) {
  const std::vector<Patch> patches = {builder.take()};
  auto changed = apply_patches(model, patches);
  INFO((changed ? "" : changed.error().message));
  REQUIRE(changed);
  return *changed;
}

std::string fault(const Model& before, PatchBuilder& builder) {
  return ill_typed(before, patched(before, builder)).value_or("");
}

}  // namespace

TEST_CASE("a rewrite whose shapes contradict each other is found", "[edit]") {
  const Model before = parse("input %x : f32[2, 4]\n%y = RELU(%x) : f32[2, 4]\noutput %y\n");
  const auto reshaped = [&](std::vector<double> sizes) {
    PatchBuilder b(before.graphs[0], 0, "reshape");
    const ValueId shape = b.add_constant("shape", DType::i32, {2}, sizes);
    b.remove(0);
    b.add_node("RESHAPE", {0, shape}, {1});
    return fault(before, b);
  };
  CHECK(reshaped({2, 4}) == "");
  CHECK(reshaped({4, 4}).find("the shape 4x4 does not fit 2x4") != std::string::npos);
  CHECK(reshaped({4, 2}).find("its result is declared f32 of shape 2x4, it is f32 of shape 4x2") !=
        std::string::npos);
}

// Scales of results are measured when a model is quantized: they follow from no operand.
TEST_CASE("the scale of a quantized product is the rewrite's to say", "[edit]") {
  const Model before = parse(R"(
input %x : i8[2, 2, 4] q(0.5, 0)
const %w : i8[2, 4] q(0.25, 0) = [1, 2, 3, 4, 5, 6, 7, 8]
%y = FULLY_CONNECTED(%x, %w) { keep_num_dims = true } : i8[2, 2, 2] q(2, 1)
output %y
)");
  PatchBuilder b(before.graphs[0], 0, "again");
  const Node old = before.graphs[0].node(0);
  b.remove(0);
  b.add_node("FULLY_CONNECTED", old.inputs, old.outputs, old.attrs);
  CHECK(fault(before, b) == "");
}

TEST_CASE("a value that one patch retypes is not what its reader takes", "[edit]") {
  const Model before = parse("input %x : i64[4]\ninput %z : i64[4]\n%y = ADD(%x, %z) : i64[4]\noutput %y\n");
  PatchBuilder b(before.graphs[0], 0, "i32 instead");
  ValueChange change;
  change.value = 0, change.dtype = DType::i32;
  b.change(change);
  CHECK(fault(before, b).find("ADD (node 0): its operands are i32 and i64") != std::string::npos);
}

TEST_CASE("what was wrong before and what nothing touches is left alone", "[edit]") {
  const Model before = parse(R"(
input %x : f32[2, 4]
input %z : f32[3, 5]
%y = ADD(%x, %z) : f32[2, 4]
%u = RELU(%x) : f32[2, 4]
output %y
output %u
)");
  PatchBuilder b(before.graphs[0], 0, "tanh instead");
  b.remove(1);
  b.add_node("TANH", {0}, {3});
  CHECK(fault(before, b) == "");
}

TEST_CASE("aten programs are held to their schemas and shapes", "[edit]") {
  const Model before = parse(
      "input %x : f32[2, 4]\n%y = aten.relu.default(self = %x) : f32[2, 4]\noutput %y\n", dialect("pt2"));
  PatchBuilder b(before.graphs[0], 0, "transpose instead");
  b.remove(0);
  Node node;
  node.op = "aten.transpose.int", node.inputs = {0}, node.input_names = {"self"}, node.outputs = {1};
  node.attrs.set("dim0", std::int64_t{0}), node.attrs.set("dim1", std::int64_t{1});
  b.add_node(node);
  CHECK(fault(before, b).find("expected a result of shape 4x2 for aten.transpose.int") != std::string::npos);
}
