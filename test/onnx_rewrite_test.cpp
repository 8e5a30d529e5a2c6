// Operators of ONNX written with plainer ones, in the form of other operator sets, on other types.
#include "lib/edit/apply.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/proof/proof.h"
#include "lib/rewrite/onnx/expand.h"
#include "lib/rewrite/onnx/forms.h"
#include "test/catch.h"

using namespace md;

namespace {

Model model_of(const std::string& text, int set = 0) {
  auto model = parse_model("text", 1, text, dialect("onnx"));
  INFO((model ? std::string() : model.error().message));
  REQUIRE(model);
  if (set > 0) {
    model->operator_sets = {{"", set}};
    for (Graph& graph : model->graphs)
      for (const NodeId id : graph.order)
        if (graph.node(id).custom.empty())
          graph.node(id).version = version_in_set(dialect("onnx"), graph.node(id).op, set).value_or(set);
  }
  return *std::move(model);
}

void check_equal(const Model& model, const Patch& patch) {
  const auto changed = apply_patches(model, {&patch, 1});
  INFO((changed ? print(*changed) : changed.error().message));
  REQUIRE(changed);
  ProofOptions options;
  options.exactness = Exactness::rounding;
  const Proof proof = prove(model, *changed, 0, options);
  INFO(proof.counterexample);
  CHECK(proof.equal);
}

struct Case {
  std::string node;  ///< as text, from inputs x, w, b, k, v
  int set;           ///< the operator set that it is written with
};

std::string with_inputs(const std::string& node, const std::string& inputs) {
  return inputs + "\n%y = " + node + "\noutput %y\n";
}

}  // namespace

TEST_CASE("formulas compute what their operators compute", "[onnx][rewrite]") {
  const std::string x = "input %x : f32[2, 3, 4]\n";
  const std::string pictures = "input %x : f32[1, 4, 3, 5]\n";
  const std::string wb = "const %w : f32[4] = random(1)\nconst %b : f32[4] = random(2)\n";
  const std::string heads =
      "input %q : f32[1, 2, 3, 4]\ninput %k : f32[1, 2, 5, 4]\ninput %v : f32[1, 2, 5, 4]\n";
  const std::vector<std::pair<std::string, int>> cases = {
      {with_inputs("Mish@18(%x) : f32[2, 3, 4]", x), 13},
      {with_inputs("Swish@24(%x) : f32[2, 3, 4]", x), 13},
      {with_inputs("Gelu@20(%x) : f32[2, 3, 4]", x), 13},
      {with_inputs("Gelu@20(%x) { approximate = \"tanh\" } : f32[2, 3, 4]", x), 13},
      {with_inputs("com.microsoft.QuickGelu(%x) : f32[2, 3, 4]", x), 13},
      {with_inputs("com.microsoft.FastGelu(%x, %w) : f32[2, 3, 4]", x + wb), 13},
      {with_inputs("com.microsoft.BiasGelu(%x, %w) : f32[2, 3, 4]", x + wb), 13},
      {with_inputs("HardSwish@14(%x) : f32[2, 3, 4]", x), 13},
      {with_inputs("Celu@12(%x) { alpha = 2.0 } : f32[2, 3, 4]", x), 11},
      {with_inputs("Softsign@1(%x) : f32[2, 3, 4]", x), 13},
      {with_inputs("PRelu@16(%x, %w) : f32[2, 3, 4]", x + wb), 13},
      {with_inputs("LayerNormalization@17(%x, %w, %b) : f32[2, 3, 4]", x + wb), 13},
      {with_inputs("LayerNormalization@17(%x, %w, %b) : f32[2, 3, 4]", x + wb), 18},
      {with_inputs("RMSNormalization@23(%x, %w) : f32[2, 3, 4]", x + wb), 17},
      {with_inputs("GroupNormalization@21(%x, %w, %b) { num_groups = 2 } : f32[1, 4, 3, 5]", pictures + wb),
       17},
      {with_inputs("com.microsoft.SkipLayerNormalization(%x, %x, %w, %b) { epsilon = 0.001 } : f32[2, 3, 4]",
                   x + wb),
       13},
      {with_inputs("ReduceL2@13(%x) { axes = [1] } : f32[2, 1, 4]", x), 13},
      {with_inputs("ReduceLogSumExp@13(%x) { axes = [-1], keepdims = 0 } : f32[2, 3]", x), 13},
      {with_inputs("Attention@23(%q, %k, %v) : f32[1, 2, 3, 4]", heads), 21},
      {with_inputs("Attention@23(%q, %k, %v) { scale = 0.3, is_causal = 1 } : f32[1, 2, 3, 4]", heads), 21},
      {with_inputs("com.microsoft.FusedMatMul(%x, %k) { transB = 1, alpha = 0.5 } : f32[2, 3, 5]",
                   x + "input %k : f32[2, 5, 4]\n"),
       13},
      {with_inputs("Trilu@14(%x) { upper = 0 } : f32[2, 3, 4]", x), 13},
      {with_inputs("DepthToSpace@13(%x) { blocksize = 2, mode = \"CRD\" } : f32[1, 1, 6, 10]", pictures), 13},
      {with_inputs("DepthToSpace@13(%x) { blocksize = 2 } : f32[1, 1, 6, 10]", pictures), 13},
      {with_inputs("SpaceToDepth@13(%x) { blocksize = 2 } : f32[1, 16, 2, 2]",
                   "input %x : f32[1, 4, 4, 4]\n"),
       13},
      {with_inputs("Tile@13(%x, %n) : f32[2, 6, 8]", x + "const %n : i64[3] = [1, 2, 2]\n"), 13},
      {with_inputs("Pad@13(%x, %n) : f32[2, 3, 3]", x + "const %n : i64[6] = [0, 1, -1, 0, -1, 0]\n"), 13},
  };
  for (const auto& [text, set] : cases) {
    INFO(text << "in opset " << set);
    const Model model = model_of(text);
    std::string reason;
    const auto patch = onnx::expanded(model, 0, model.graphs[0].order.front(), set, reason);
    INFO(reason);
    CHECK(patch);
    if (patch) check_equal(model, *patch);
  }
}

TEST_CASE("operators of ai.onnx.ml have plain forms", "[onnx][rewrite]") {
  const std::pair<std::string, int> cases[] = {
      {with_inputs("ai.onnx.ml.ArrayFeatureExtractor(%x, %n) : f32[2, 3, 2]",
                   "input %x : f32[2, 3, 4]\nconst %n : i64[1, 2] = [3, 0]\n"),
       13},
      {with_inputs("ai.onnx.ml.Scaler(%x) { offset = [1.0, 2.0, 3.0, 4.0], scale = [2.0, 1.0, 1.0, 0.5] } : "
                   "f32[2, 4]",
                   "input %x : f32[2, 4]\n"),
       13},
  };
  for (const auto& [text, set] : cases) {
    std::string reason;
    const Model model = model_of(text);
    const auto patch = onnx::expanded(model, 0, model.graphs[0].order.front(), set, reason);
    INFO(text << reason);
    REQUIRE(patch);
    CHECK(apply_patches(model, {&*patch, 1}));
  }
}

TEST_CASE("a file is written against another operator set", "[onnx][rewrite]") {
  const std::string x = "input %x : f32[2, 3, 4]\n";
  struct Move {
    std::string text;
    int from, to;
  };
  const std::string heads =
      "input %q : f32[1, 2, 3, 4]\ninput %k : f32[1, 2, 3, 4]\ninput %v : f32[1, 2, 3, 4]\n";
  const std::vector<Move> moves = {
      {with_inputs("Attention(%q, %k, %v) : f32[1, 2, 3, 4]", heads), 23, 21},
      {with_inputs("Relu(%x) : f32[2, 3, 4]", x), 22, 13},
      {with_inputs("Squeeze(%x, %n) : f32[3, 4]", "input %x : f32[1, 3, 4]\nconst %n : i64[1] = [0]\n"), 17,
       11},
      {with_inputs("ReduceMean(%x, %n) : f32[2, 1, 4]", x + "const %n : i64[1] = [1]\n"), 18, 13},
      {with_inputs("Clip(%x, %l, %h) : f32[2, 3, 4]",
                   x + "const %l : f32[] = [-0.5]\nconst %h : f32[] = [0.5]\n"),
       13, 10},
      {with_inputs("Softmax(%x) { axis = 1 } : f32[2, 3, 4]", x), 13, 11},
      {with_inputs("Softmax(%x) { axis = 1 } : f32[2, 3, 4]", x), 11, 13},
      {with_inputs("Gelu(%x) : f32[2, 3, 4]", x), 20, 17},
      {with_inputs("Pad(%x, %n) : f32[2, 4, 4]", x + "const %n : i64[6] = [0, 1, 0, 0, 0, 0]\n"), 17, 10},
  };
  for (const Move& move : moves) {
    INFO(move.text << move.from << " -> " << move.to);
    const Model model = model_of(move.text, move.from);
    std::string reason;
    const auto patch = onnx::restamped(model, move.to, reason);
    INFO(reason);
    CHECK(patch);
    if (!patch) continue;
    check_equal(model, *patch);
    const auto changed = apply_patches(model, {&*patch, 1});
    REQUIRE(changed);
    for (const NodeId id : changed->graphs[0].order) {
      const Node& node = changed->graphs[0].node(id);
      const OpSpec* row = row_of(changed->graphs[0], node);
      INFO(node.op << "@" << node.version);
      CHECK(row);
      if (row) CHECK_FALSE(onnx::misfit_in(changed->graphs[0], node, *row));
      CHECK(version_in_set(dialect("onnx"), node.op, move.to) == node.version);
    }
  }
}

TEST_CASE("a set that changes what a node means is no restamp", "[onnx][rewrite]") {
  const Model model = model_of("input %x : f32[2, 3, 4]\n%y = DFT(%x) : f32[2, 3, 4]\noutput %y\n", 17);
  std::string reason;
  CHECK_FALSE(onnx::restamped(model, 20, reason));
  CHECK(reason.find("DFT") != std::string::npos);
}
