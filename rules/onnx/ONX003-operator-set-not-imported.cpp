#include <fmt/format.h>

#include <algorithm>

#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ONX003(const DetectContext& context) {
  constexpr std::string_view kinds[] = {"missing-opset", "missing-domain"};
  std::vector<DetectResult> results =
      onnx::repairs_of(context, kinds, "imports of the operator sets that the nodes use");
  if (context.graph_index != 0) return results;
  // the set of local functions needs an import as any other
  DetectResult result;
  Patch patch;
  for (const Graph& graph : context.model.graphs)
    for (const NodeId id : graph.order) {
      const Node& node = graph.node(id);
      const bool calls = !node.subgraphs.empty() && !onnx::default_domain(node);
      if (!calls || onnx_set_version(context.model, node.custom) != 0 ||
          std::any_of(patch.operator_sets.begin(), patch.operator_sets.end(),
                      [&](const OperatorSet& set) { return set.domain == node.custom; }))
        continue;
      patch.operator_sets.push_back({node.custom, 1});
      if (&graph == &context.graph) result.nodes.push_back(id);
      if (result.message.empty())
        result.message = fmt::format("\"{}\" is a local function, and its domain \"{}\" is not imported",
                                     node.op, node.custom);
    }
  if (patch.operator_sets.empty()) return results;
  patch.title = fmt::format("import of \"{}\"", patch.operator_sets.front().domain);
  result.fixes.emplace_back(std::move(patch));
  results.push_back(std::move(result));
  return results;
}

}  // namespace md
