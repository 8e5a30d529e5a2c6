#include "lib/eval/index_limit.h"

#include <algorithm>
#include <set>

#include "lib/op/ops.h"

namespace md {

std::int64_t index_limit(const Graph& graph, const std::vector<NodeId>& nodes, ValueId input) {
  std::int64_t limit = 0;
  if (static_cast<std::size_t>(input) >= graph.values.size() || !is_integer(graph.value(input).dtype))
    return 0;
  std::set<ValueId> reached = {input};
  const auto is_reached = [&](ValueId v) { return v != none_id && reached.count(v) != 0; };
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (std::none_of(node.inputs.begin(), node.inputs.end(), is_reached)) continue;
    const OpSpec* row = row_of(graph, node);
    bool indexes = false;
    for (const IndexUse& use : row && row->indices ? row->indices(graph, node) : std::vector<IndexUse>()) {
      if (use.marks || use.operand >= node.inputs.size() || !is_reached(node.inputs[use.operand])) continue;
      indexes = true;
      if (use.size > 0) limit = limit ? std::min(limit, use.size) : use.size;
    }
    if (indexes) continue;
    for (const ValueId v : node.outputs)
      if (v != none_id && is_integer(graph.value(v).dtype)) reached.insert(v);
  }
  return limit;
}

}  // namespace md
