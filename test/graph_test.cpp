#include "lib/edit/apply.h"
#include "lib/edit/builder.h"
#include "lib/graph/encode.h"
#include "lib/op/dialect.h"
#include "test/catch.h"

using namespace md;

namespace {
/// x -> RELU -> y -> NEG -> z
Model chain() {
  Model model;
  Graph graph;
  model.dialect = graph.dialect = &dialect("tflite");
  for (const char* n : {"x", "y", "z"}) {
    Value v;
    v.name = n, v.dtype = DType::f32, v.shape = {4};
    v.origin = static_cast<ValueId>(graph.values.size());
    graph.values.push_back(v);
  }
  for (int i = 0; i < 2; ++i) {
    Node n;
    n.op = i ? "NEG" : "RELU", n.inputs = {i}, n.outputs = {i + 1}, n.origin = i;
    graph.nodes.push_back(n);
    graph.order.push_back(i);
  }
  graph.inputs = {0}, graph.outputs = {2};
  graph.index();
  model.graphs.push_back(graph);
  return model;
}
}  // namespace

TEST_CASE("every half survives the trip through float", "[graph]") {
  for (unsigned h = 0; h < 0x10000; ++h) {
    const float f = half_to_float(static_cast<std::uint16_t>(h));
    if (f != f) continue;
    REQUIRE(float_to_half(f) == h);
  }
  REQUIRE(float_to_half(65519.0f) == 0x7bff);  // rounds down to 65504
  REQUIRE(float_to_half(65520.0f) == 0x7c00);  // ties to even: infinity
  REQUIRE(float_to_half(5.9604645e-8f / 2) == 0);
}

TEST_CASE("a patch replaces a node and keeps the root value", "[edit]") {
  const Model model = chain();
  PatchBuilder b(model.graphs[0], 0, "two steps");
  b.remove(0);
  const ValueId t = b.add_value("t", DType::f32, {4});
  const ValueId one = b.add_constant("one", DType::f32, {1}, std::vector<double>{1.0});
  b.add_node("RELU", {0}, {t});
  b.add_node("MINIMUM", {t, one}, {1});
  const std::vector<Patch> patches = {b.take()};
  const auto changed = apply_patches(model, patches);
  REQUIRE(changed);
  const Graph& g = changed->graphs[0];
  REQUIRE(g.order == std::vector<NodeId>{2, 3, 1});
  REQUIRE(g.node(3).outputs == std::vector<ValueId>{1});
  REQUIRE(g.producer(1) == 3);
  REQUIRE(g.node(2).origins == std::vector<std::int32_t>{0});
  REQUIRE(g.value(4).is_constant());
  REQUIRE_FALSE(broken_invariant(g));
}

TEST_CASE("patches that remove the same node overlap", "[edit]") {
  const Model model = chain();
  PatchBuilder a(model.graphs[0], 0, "a"), b(model.graphs[0], 0, "b"), c(model.graphs[0], 0, "c");
  a.remove(0), b.remove(0), c.remove(1);
  REQUIRE(overlap(a.patch(), b.patch()));
  REQUIRE_FALSE(overlap(a.patch(), c.patch()));
}

TEST_CASE("a patch that makes a cycle is refused", "[edit]") {
  const Model model = chain();
  Patch p;
  p.title = "cycle";
  p.rewires.push_back({0, 0, 2});
  REQUIRE_FALSE(apply_patches(model, std::vector<Patch>{p}));
}

TEST_CASE("quantized constants round and saturate", "[graph]") {
  Value v;
  v.dtype = DType::i8, v.shape = {4}, v.quantization = Quantization{{0.5f}, {3}, 0, {}, {}};
  const std::vector<double> real = {0, 1, -100, 100};
  v.constant = Constant::own(encode(DType::i8, v.shape, real, &*v.quantization));
  REQUIRE(*decode(v) == std::vector<double>{3, 5, -128, 127});
  REQUIRE(*decode(v, true) == std::vector<double>{0, 1, -65.5, 62});
}
