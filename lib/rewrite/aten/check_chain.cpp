#include "lib/rewrite/aten/check_chain.h"

#include <vector>

#include "lib/edit/builder.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// Marks what `id` needs, without recursion.
void mark_upstream(const Graph& graph, NodeId id, std::vector<char>& marked) {
  std::vector<NodeId> pending{id};
  while (!pending.empty()) {
    const NodeId n = pending.back();
    pending.pop_back();
    if (n == none_id || marked[static_cast<std::size_t>(n)]) continue;
    marked[static_cast<std::size_t>(n)] = 1;
    for (const ValueId v : graph.node(n).inputs)
      if (v >= 0) pending.push_back(graph.producer(v));
  }
}

}  // namespace

std::set<NodeId> check_only_nodes(const Graph& graph) {
  std::vector<char> needed(graph.nodes.size(), 0), checking(graph.nodes.size(), 0);
  for (const ValueId v : graph.outputs)
    if (v >= 0) mark_upstream(graph, graph.producer(v), needed);
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const bool check = aten_is_check(node.op);
    // What has an effect of its own stays: writes in place, mutations, regions.
    if (!check && (aten_in_place(node.op) || node.outputs.empty() || !node.subgraphs.empty()))
      mark_upstream(graph, id, needed);
    if (check && aten_base(node.op) != "aten._assert_tensor_metadata") mark_upstream(graph, id, checking);
  }
  std::set<NodeId> nodes;
  for (const NodeId id : graph.order)
    if (checking[static_cast<std::size_t>(id)] && !needed[static_cast<std::size_t>(id)]) nodes.insert(id);
  return nodes;
}

Patch drop_checks(const DetectContext& context, const std::set<NodeId>& nodes) {
  PatchBuilder builder(context.graph, context.graph_index, "drop the checks and what only they read");
  for (const NodeId id : nodes) builder.remove(id);
  // A tensor check beside the chain reads what leaves with it.
  for (const NodeId id : context.graph.order) {
    const Node& node = context.graph.node(id);
    if (nodes.count(id) || !aten_is_check(node.op)) continue;
    for (const ValueId v : node.inputs)
      if (v >= 0 && nodes.count(context.graph.producer(v))) builder.remove(id);
  }
  return builder.take();
}

}  // namespace md
