#include <algorithm>

#include "rules/aten/shared_constants.h"

namespace md {

std::vector<DetectResult> ETX018(const DetectContext& context) {
  const Graph& graph = context.graph;
  const bool quantized = std::any_of(graph.order.begin(), graph.order.end(), [&](NodeId id) {
    return graph.node(id).op.starts_with("quantized_decomposed.");
  });
  if (!quantized && !log_says(context, "found dependency cycles")) return {};
  return split_shared_constants(
      context, [](ValueId) { return true; },
      "{} constants of quantized layers have several readers, which joins their partitions, first {}");
}

}  // namespace md
