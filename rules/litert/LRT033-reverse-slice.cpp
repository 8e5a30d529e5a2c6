// STRIDED_SLICE with a negative stride.
#include <algorithm>

#include "lib/rule/detector.h"
#include "lib/rule/plain_slice.h"
#include "lib/rule/tflite_queries.h"

namespace md {

std::vector<DetectResult> LRT033(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (node.op != "STRIDED_SLICE" || node.inputs.size() < 4) continue;
    const auto strides = integer_values(graph, node.inputs[3]);
    if (!strides || std::none_of(strides->begin(), strides->end(), [](std::int64_t s) { return s < 0; }))
      continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = "STRIDED_SLICE with a negative stride: the accelerator slices forwards only";
    result.at_source = "Use `torch.flip(x, dims)` (it becomes REVERSE_V2), then slice forwards.";
    const auto slice = resolve_slice(graph, node);
    if (!slice) {
      result.state = DetectResult::State::declined;
      result.reason = "its shapes or bounds are not known before run time";
    } else {
      result.fixes.push_back(
          {plain_slice_patch(graph, context.graph_index, id, *slice, "REVERSE_V2, then a forward slice"),
           Exactness::exact, false, ""});
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
