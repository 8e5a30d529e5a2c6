#include "lib/edit/dead.h"

#include <algorithm>
#include <set>

#include "lib/op/ops.h"

namespace md {
void remove_dead(const Graph& graph, Patch& patch) {
  std::set<NodeId> removed(patch.removed.begin(), patch.removed.end());
  std::set<std::pair<NodeId, int>> rewired;
  std::set<ValueId> read;  // by what the patch adds
  for (const Rewire& r : patch.rewires) rewired.emplace(r.node, r.operand), read.insert(r.value);
  for (const Node& node : patch.new_nodes) read.insert(node.inputs.begin(), node.inputs.end());
  if (patch.graph_outputs) read.insert(patch.graph_outputs->begin(), patch.graph_outputs->end());
  const auto is_read = [&](ValueId id) {
    if (id < 0) return false;
    if (read.contains(id) || graph.is_output(id)) return true;
    const auto uses = graph.uses(id);
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      return !removed.contains(use.node) && !rewired.contains({use.node, use.operand});
    });
  };
  std::vector<ValueId> candidates;
  for (const NodeId id : patch.removed)
    candidates.insert(candidates.end(), graph.node(id).inputs.begin(), graph.node(id).inputs.end());
  for (const Rewire& r : patch.rewires)
    candidates.push_back(graph.node(r.node).inputs[static_cast<std::size_t>(r.operand)]);
  while (!candidates.empty()) {
    const ValueId value = candidates.back();
    candidates.pop_back();
    const NodeId producer = value < 0 ? none_id : graph.producer(value);
    if (producer == none_id || removed.contains(producer)) continue;
    const Node& node = graph.node(producer);
    if (has_effects(graph, node) || std::any_of(node.outputs.begin(), node.outputs.end(), is_read)) continue;
    removed.insert(producer);
    patch.removed.push_back(producer);
    candidates.insert(candidates.end(), node.inputs.begin(), node.inputs.end());
  }
}

}  // namespace md
