#include <fmt/format.h>

#include <set>

#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> TRT008(const DetectContext& context) {
  const Graph& graph = context.graph;
  if (context.graph_index != 0 || graph.order.empty()) return {};
  std::set<std::string> symbols;
  for (const ValueId input : graph.inputs)
    for (const std::string& symbol : graph.value(input).dim_names)
      if (!symbol.empty()) symbols.insert(symbol);
  if (symbols.size() < 2) return {};
  DetectResult result;
  result.state = DetectResult::State::advice;
  result.nodes = {graph.order.front()};
  result.value = graph.inputs.front();
  result.message = fmt::format("{} symbolic dimensions: the runtime frees shape inputs before they are read",
                               symbols.size());
  result.reason = "export with static shapes, use the C++ runtime (use_python_runtime=False), or upgrade";
  return {std::move(result)};
}

}  // namespace md
