// STRIDED_SLICE with a negative stride.
#include <algorithm>

#include "lib/format/tflite/queries.h"
#include "lib/rewrite/plain_slice.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT033(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "STRIDED_SLICE" || node.inputs.size() < 4) continue;
    const auto strides = integer_values(graph, node.inputs[3]);
    if (!strides || std::none_of(strides->begin(), strides->end(), [](std::int64_t s) { return s < 0; }))
      continue;
    DetectResult result = plain_slice_finding(context, id, "REVERSE_V2, then a forward slice");
    result.message = "STRIDED_SLICE with a negative stride: the accelerator slices forwards only";
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
