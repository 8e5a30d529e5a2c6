#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> TRT002(const DetectContext& context) {
  constexpr std::size_t too_many = 50000;
  const Graph& graph = context.graph;
  if (graph.order.size() <= too_many) return {};
  std::map<std::string, std::size_t> counts;
  for (const NodeId id : graph.order) ++counts[graph.node(id).op];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  DetectResult result;
  result.state = DetectResult::State::advice;
  result.nodes = {graph.order.front()};
  result.message =
      fmt::format("{} nodes, {} of them {}: the fast partitioner takes time with the square of that",
                  graph.order.size(), most->second, most->first);
  result.reason = "compile with use_fast_partitioner=False, and remove what unrolled the graph";
  return {std::move(result)};
}

}  // namespace md
