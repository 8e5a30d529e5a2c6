#include "lib/graph/document.h"
#include "lib/target/partition.h"
#include "lib/target/target.h"
#include "test/catch.h"
#include "test/paths.h"

using namespace md;

namespace {

/// x -> n0 -> n1 -> n2 -> n3, and n0 -> n4 beside it.
Graph chain_with_branch() {
  Graph graph;
  graph.values.resize(6);
  for (int i = 0; i < 4; ++i) {
    Node node;
    node.op = "RELU", node.inputs = {i}, node.outputs = {i + 1};
    graph.nodes.push_back(node);
    graph.order.push_back(i);
  }
  Node side;
  side.op = "NEG", side.inputs = {1}, side.outputs = {5};
  graph.nodes.push_back(side);
  graph.order.push_back(4);
  graph.inputs = {0}, graph.outputs = {4, 5};
  graph.index();
  return graph;
}

}  // namespace

TEST_CASE("a refused node splits the graph, what does not depend on it stays together", "[target]") {
  const Graph graph = chain_with_branch();
  const Partitioning all = partition(graph, {true, true, true, true, true});
  CHECK(all.partitions == 1);
  CHECK(all.accelerated == 5);
  const Partitioning split = partition(graph, {true, false, true, true, true});
  CHECK(split.partitions == 2);
  CHECK(split.accelerated == 2);
  CHECK(split.chosen == std::vector<bool>{true, false, false, false, true});
  CHECK(partition(graph, {false, false, false, false, false}).accelerated == 0);
}

TEST_CASE("with the CPU allowed, refused nodes run there", "[target]") {
  auto document = open_document(test::fixture("targets/probe_gl_mixed.tflite"));
  REQUIRE(document);
  const Prediction alone = (*open_target("litert-gpu"))->predict((*document)->model());
  const Prediction both = (*open_target("litert-gpu+cpu"))->predict((*document)->model());
  CHECK(alone.verdict == Prediction::Verdict::refused);
  CHECK(both.verdict == Prediction::Verdict::compiles);
  CHECK(both.nodes == 2);
  CHECK(both.accelerated == 1);
  CHECK(both.partitions == 1);
}

TEST_CASE("a kernel that cannot be built ends both", "[target]") {
  auto document = open_document(test::fixture("targets/probe_se_SELECTV2_f32_r4_c2.tflite"));
  REQUIRE(document);
  const Prediction both = (*open_target("litert-gpu+cpu"))->predict((*document)->model());
  CHECK(both.verdict == Prediction::Verdict::refused);
  REQUIRE(both.records.size() == 1);
  CHECK(both.records[0].text.rfind("INVALID_ARGUMENT", 0) == 0);
}
