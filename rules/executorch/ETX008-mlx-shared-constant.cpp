#include <algorithm>

#include "rules/aten/shared_constants.h"

namespace md {
namespace {

/// MLX has no float64 and no complex numbers: such values split the graph into partitions.
bool is_split(const Graph& graph) {
  return std::any_of(graph.values.begin(), graph.values.end(), [](const Value& v) {
    return v.dtype == DType::f64 || v.dtype == DType::c64 || v.dtype == DType::c128;
  });
}

std::vector<DetectResult> in_lowered(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const NodeId id : context.graph.order) {
    const Node& node = context.graph.node(id);
    if (node.op != "delegate" || node.attrs.integer("unnamed_constants") == 0) continue;
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.nodes = {id};
    result.message = "an MLX partition with a constant that has no name";
    result.reason =
        "fix the .pt2 that it was lowered from (modeldoctor fix model.pt2 --target executorch-mlx), and "
        "lower again";
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

std::vector<DetectResult> ETX008(const DetectContext& context) {
  if (context.model.format == Format::pte) return in_lowered(context);
  if (!is_split(context.graph) && !log_says(context, "no name found for constant tensor")) return {};
  return split_shared_constants(
      context, [](ValueId) { return true; },
      "{} constants are read at several places that may end in different MLX partitions, first {}");
}

}  // namespace md
