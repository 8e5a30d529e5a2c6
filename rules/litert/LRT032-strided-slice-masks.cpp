// STRIDED_SLICE that drops or adds axes, or uses an ellipsis.
#include <fmt/format.h>

#include "lib/rewrite/plain_slice.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT032(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "STRIDED_SLICE") continue;
    std::string masks;
    for (const char* name : {"shrink_axis_mask", "new_axis_mask", "ellipsis_mask"})
      if (node.attrs.integer(name) != 0) masks += (masks.empty() ? "" : ", ") + std::string(name);
    if (masks.empty()) continue;
    DetectResult result = plain_slice_finding(context, id, "slice without masks, then RESHAPE");
    result.message =
        fmt::format("STRIDED_SLICE with {}: the accelerator slices, but neither drops nor adds axes", masks);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
