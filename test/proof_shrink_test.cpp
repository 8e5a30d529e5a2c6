// Counterexamples on the smallest shapes, and large sites that are proved on a smaller shape.
#include "lib/edit/apply.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/proof/proof.h"
#include "test/catch.h"

using namespace md;

namespace {

Model parse(const std::string& text) {
  auto model = parse_model("test", 1, text, dialect("tflite"));
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return *model;
}

/// The model with node 0 replaced by another operator on the same operands.
Model with_first_node(const Model& model, const std::function<void(Node&)>& change) {
  Patch patch;
  patch.title = "test";
  Node node = model.graphs[0].node(0);
  change(node);
  patch.removed = {0};
  patch.new_nodes = {node};
  auto changed = apply_patches(model, std::span(&patch, 1));
  INFO((changed ? "" : changed.error().message));
  REQUIRE(changed);
  return *changed;
}

Proof prove_change(const std::string& text, const std::function<void(Node&)>& change, Exactness exactness) {
  const Model before = parse(text);
  ProofOptions options;
  options.exactness = exactness;
  return prove(before, with_first_node(before, change), 0, options);
}

}  // namespace

TEST_CASE("a reduction is refuted on two numbers", "[proof]") {
  const Proof p = prove_change(
      "input %x : f32[16, 64]\nconst %a : i32[1] = [1]\n%y = REDUCE_MAX(%x, %a) : f32[16]\noutput %y\n",
      [](Node& node) { node.op = "SUM"; }, Exactness::bounded);
  REQUIRE_FALSE(p.equal);
  INFO(p.counterexample);
  REQUIRE(p.counterexample.find("input 1x2 with [0,") == 0);
  REQUIRE(p.counterexample.find("and zeros elsewhere gives ") != std::string::npos);
}

TEST_CASE("a wrong transpose is refuted on the smallest square", "[proof]") {
  const Proof p = prove_change(
      "input %x : f32[1, 8, 8, 4]\nconst %p : i32[4] = [0, 2, 1, 3]\nconst %q : i32[4] = [0, 1, 2, 3]\n"
      "%y = TRANSPOSE(%x, %p) : f32[1, 8, 8, 4]\n%z = TRANSPOSE(%x, %q) : f32[1, 8, 8, 4]\noutput %y\noutput "
      "%z\n",
      [](Node& node) { ++node.inputs[1]; }, Exactness::exact);
  REQUIRE(p.method == ProofMethod::movement);
  REQUIRE_FALSE(p.equal);
  REQUIRE(p.counterexample ==
          "\"y\"[0,0,1,0] is x[0,1,0,0] before, x[0,0,1,0] after (inputs of shape 1x2x2x1)");
}

TEST_CASE("a large site is proved on a smaller shape, and at full size once", "[proof]") {
  const std::string text =
      "input %x : f32[1, 320, 320, 16]\nconst %w : f32[16, 3, 3, 16] = random(1)\nconst %b : f32[16] = "
      "random(2)\n"
      "%y = CONV_2D(%x, %w, %b) { padding = SAME } : f32[1, 320, 320, 16]\noutput %y\n";
  const Proof same = prove_change(
      text, [](Node& node) { node.version = 2; }, Exactness::rounding);
  INFO(same.note << " " << same.counterexample);
  REQUIRE(same.equal);
  REQUIRE(same.note.find("on the shrunken shape 1x5x5x16") != std::string::npos);
  REQUIRE(same.samples == 24);
  const Proof other = prove_change(
      text,
      [](Node& node) {
        node.attrs.set("fused_activation_function", EnumValue{1, "RELU"});
      },
      Exactness::rounding);
  REQUIRE_FALSE(other.equal);
  REQUIRE(other.counterexample.find("input 1x1x1x16 ") == 0);
}
