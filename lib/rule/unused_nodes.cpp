#include "lib/rule/unused_nodes.h"

#include <algorithm>
#include <set>

namespace md {

namespace {

std::vector<NodeId> unneeded(const Graph& graph, const std::vector<NodeId>& removed,
                             const std::set<std::pair<NodeId, int>>& rewired,
                             const std::set<ValueId>& still_read) {
  std::set<NodeId> gone(removed.begin(), removed.end());
  std::vector<NodeId> pending = removed, result;
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    for (const ValueId in : graph.node(id).inputs) {
      const NodeId maker = in < 0 ? none_id : graph.producer(in);
      if (maker == none_id || gone.count(maker) != 0) continue;
      const auto& outputs = graph.node(maker).outputs;
      const bool needed = std::any_of(outputs.begin(), outputs.end(), [&](ValueId out) {
        if (out < 0) return false;
        if (graph.is_output(out) || still_read.count(out) != 0) return true;
        const auto uses = graph.uses(out);
        return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
          return gone.count(use.node) == 0 && rewired.count({use.node, use.operand}) == 0;
        });
      });
      if (needed) continue;
      gone.insert(maker);
      result.push_back(maker);
      pending.push_back(maker);
    }
  }
  return result;
}

}  // namespace

std::vector<NodeId> only_needed_by(const Graph& graph, const std::vector<NodeId>& removed) {
  return unneeded(graph, removed, {}, {});
}

void remove_unused(PatchBuilder& patch) {
  std::set<std::pair<NodeId, int>> rewired;
  std::set<ValueId> still_read;
  for (const Rewire& r : patch.patch().rewires) {
    rewired.insert({r.node, r.operand});
    still_read.insert(r.value);
  }
  for (const Node& node : patch.patch().new_nodes) still_read.insert(node.inputs.begin(), node.inputs.end());
  for (const NodeId id :
       unneeded(patch.graph(), std::vector<NodeId>(patch.patch().removed), rewired, still_read))
    patch.remove(id);
}

}  // namespace md
