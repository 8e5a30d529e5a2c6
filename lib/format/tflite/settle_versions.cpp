// The versions of the operators that a rewrite touched.
#include <algorithm>
#include <set>
#include <string>

#include "lib/format/tflite/op_versions.h"

namespace md {
namespace {

bool same_type(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.is_constant() == b.is_constant();
}

bool touched(const Graph& before, const Graph& after, NodeId id) {
  if (static_cast<std::size_t>(id) >= before.nodes.size()) return true;
  const Node &a = before.node(id), &b = after.node(id);
  if (a.inputs != b.inputs || a.outputs != b.outputs || !(a.attrs == b.attrs)) return true;
  const auto retyped = [&](ValueId v) { return v >= 0 && !same_type(before.value(v), after.value(v)); };
  return std::any_of(b.inputs.begin(), b.inputs.end(), retyped) ||
         std::any_of(b.outputs.begin(), b.outputs.end(), retyped);
}

}  // namespace

void settle_operator_versions(const Model& before, Model& after) {
  // A .tflite file stores the version once for each kind of operator, so nodes that nobody touched carry the
  // number that the removed ones needed.
  std::set<std::string> kinds;
  for (std::size_t g = 0; g < after.graphs.size() && g < before.graphs.size(); ++g) {
    const Graph &old = before.graphs[g], &now = after.graphs[g];
    for (const NodeId id : old.order)
      if (!now.is_live(id)) kinds.insert(old.node(id).op);
    for (const NodeId id : now.order)
      if (touched(old, now, id)) kinds.insert(now.node(id).op);
  }
  for (Graph& graph : after.graphs)
    for (const NodeId id : graph.order) {
      Node& node = graph.node(id);
      if (node.version != 0 && !kinds.contains(node.op)) continue;
      const int needed = minimal_operator_version(graph, node);
      node.version = node.version == 0 ? needed : std::min(node.version, needed);
    }
}

}  // namespace md
