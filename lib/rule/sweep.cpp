#include "lib/rule/sweep.h"

#include <algorithm>
#include <set>
#include <utility>

namespace md {

void sweep(PatchBuilder& builder) {
  const Graph& graph = builder.graph();
  Patch& patch = builder.patch();
  std::set<NodeId> removed(patch.removed.begin(), patch.removed.end());
  std::set<ValueId> kept;
  std::set<std::pair<NodeId, int>> rewired;
  for (const Node& node : patch.new_nodes) {
    kept.insert(node.inputs.begin(), node.inputs.end());
    kept.insert(node.outputs.begin(), node.outputs.end());  // written again: the old producer is removed by the rule
  }
  for (const Rewire& rewire : patch.rewires) {
    rewired.insert({rewire.node, rewire.operand});
    kept.insert(rewire.value);
  }
  if (patch.graph_outputs) kept.insert(patch.graph_outputs->begin(), patch.graph_outputs->end());
  std::vector<ValueId> todo;
  for (const NodeId id : removed) todo.insert(todo.end(), graph.node(id).inputs.begin(), graph.node(id).inputs.end());
  for (const Rewire& rewire : patch.rewires) todo.push_back(graph.node(rewire.node).inputs[static_cast<std::size_t>(rewire.operand)]);
  const auto is_read = [&](ValueId id) {
    if (graph.is_output(id) || kept.contains(id)) return true;
    const auto uses = graph.uses(id);
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return !removed.contains(use.node) && !rewired.contains({use.node, use.operand}); });
  };
  while (!todo.empty()) {
    const ValueId id = todo.back();
    todo.pop_back();
    if (id < 0) continue;
    const NodeId producer = graph.producer(id);
    if (producer == none_id || removed.contains(producer)) continue;
    const Node& node = graph.node(producer);
    if (std::any_of(node.outputs.begin(), node.outputs.end(), is_read)) continue;
    removed.insert(producer);
    builder.remove(producer);
    todo.insert(todo.end(), node.inputs.begin(), node.inputs.end());
  }
}

}  // namespace md
