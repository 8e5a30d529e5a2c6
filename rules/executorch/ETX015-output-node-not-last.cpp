#include <fmt/format.h>

#include <algorithm>

#include "lib/format/torch/view.h"
#include "rules/aten/check_chain.h"

namespace md {

std::vector<DetectResult> ETX015(const DetectContext& context) {
  const Graph& graph = context.graph;
  const auto chain = check_only_nodes(graph);
  const bool on_item = std::any_of(chain.begin(), chain.end(),
                                   [&](NodeId id) { return aten_base(graph.node(id).op) == "aten.item"; });
  std::vector<NodeId> checks;
  for (const NodeId id : chain)
    if (aten_is_check(graph.node(id).op)) checks.push_back(id);
  if (!on_item || checks.empty()) return {};
  DetectResult result;
  result.nodes = checks;
  for (const NodeId id : chain)
    if (std::find(checks.begin(), checks.end(), id) == checks.end()) result.nodes.push_back(id);
  result.message = fmt::format(
      "{} checks on computed values have no readers and sink below the output when a delegate is cut out",
      checks.size());
  result.fixes.emplace_back(drop_checks(context, chain));
  return {std::move(result)};
}

}  // namespace md
