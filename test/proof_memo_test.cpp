// A proof is kept for sites that are the same but for names, and for no others.
#include "lib/proof/proof_memo.h"
#include "lib/edit/apply.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "test/catch.h"

using namespace md;

namespace {

/// MUL by a constant becomes an ADD of the number to itself, which is right for a factor of 2 alone.
Proof doubled(ProofMemo& memo, const std::string& name, const std::string& factor, int samples) {
  const auto model = parse_model("test", 1,
                                 "input %" + name + " : f32[8]\nconst %c : f32[1] = [" + factor +
                                     "]\n%y = MUL(%" + name + ", %c) : f32[8]\noutput %y\n",
                                 dialect("tflite"));
  REQUIRE(model);
  Patch patch;
  patch.title = "test";
  Node node = model->graphs[0].node(0);
  node.op = "ADD";
  node.inputs[1] = node.inputs[0];
  patch.removed = {0};
  patch.new_nodes = {node};
  const auto after = apply_patches(*model, std::span(&patch, 1));
  REQUIRE(after);
  ProofOptions options;
  options.samples = samples;
  return memo.prove(*model, *after, 0, options);
}

}  // namespace

TEST_CASE("the same site under other names has the same proof; another constant has its own", "[proof]") {
  ProofMemo memo;
  const Proof first = doubled(memo, "x", "2", 24), again = doubled(memo, "other", "2", 24);
  REQUIRE(first.equal);
  REQUIRE(again.equal);
  REQUIRE(again.samples == first.samples);
  REQUIRE_FALSE(doubled(memo, "x", "3", 24).equal);
  REQUIRE(doubled(memo, "x", "2", 5).samples == 5);
}
