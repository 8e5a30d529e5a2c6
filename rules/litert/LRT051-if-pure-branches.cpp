// IF whose branches have no effect besides their results: both are computed, SELECT_V2 takes one.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/rewrite/inline_graph.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

Patch select_between_branches(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "compute both branches, SELECT_V2");
  TfliteBuilder ops(patch);
  const std::vector<ValueId> arguments(node.inputs.begin() + 1, node.inputs.end());
  std::vector<std::vector<ValueId>> made;
  for (const std::int32_t branch : node.subgraphs) {
    auto results = inline_graph(patch, context.model.graphs[static_cast<std::size_t>(branch)], arguments);
    if (!results || results->size() != node.outputs.size()) return {};
    made.push_back(std::move(*results));
  }
  const ValueId condition =
      ops.shape(node.inputs[0]).size() == 1 ? node.inputs[0] : ops.reshape(node.inputs[0], {1});
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (ops.shape(made[0][i]) != ops.shape(made[1][i])) return {};
    patch.add_node("SELECT_V2", {condition, made[0][i], made[1][i]}, {node.outputs[i]});
  }
  patch.remove(id);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT051(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "IF" || node.inputs.empty()) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.inputs[0];
    result.message = "IF: the accelerator has no control flow";
    Patch patch;
    if (node.subgraphs.size() == 2 && is_pure(context.model, node.subgraphs[0]) &&
        is_pure(context.model, node.subgraphs[1]))
      patch = select_between_branches(context, id);
    if (patch.empty()) {
      result.state = DetectResult::State::advice;
      result.reason =
          "a branch writes state or calls a custom operator, or the branches give other shapes: keep the IF "
          "on the host and export each branch as a model";
    } else {
      result.fixes.emplace_back(std::move(patch));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
