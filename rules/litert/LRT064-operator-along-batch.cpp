// Operators along an axis that the delegate takes for the batch: the only axis of a rank-1 value, and the
// first one of a CUMSUM below rank 4.
#include <fmt/format.h>

#include "lib/format/tflite/queries.h"
#include "lib/rewrite/rank_region.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

bool runs_along_batch(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || !is_runtime_operand(graph, node.inputs[0])) return false;
  const Value& x = graph.value(node.inputs[0]);
  if (!is_static(x) || x.rank() == 0 || x.shape[0] == 1 || !is_float(x.dtype)) return false;
  if (node.op == "SOFTMAX" || node.op == "FULLY_CONNECTED") return x.rank() == 1;
  if (node.op != "CUMSUM" || node.inputs.size() < 2 || x.rank() > 3) return false;
  const auto axis = integer_values(graph, node.inputs[1]);
  return axis && axis->size() == 1 && (axis->front() == 0 || axis->front() == -x.rank());
}

}  // namespace

std::vector<DetectResult> LRT064(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (!runs_along_batch(graph, node)) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = fmt::format("{} along the first axis of [{}]: the accelerator takes it for the batch",
                                 node.op, shape_text(graph.value(node.inputs[0]).shape));
    LoweredRegion lowered = lower_region(graph, context.graph_index, region_of(graph, {id}),
                                         "compute at rank 4 with a batch of 1", false);
    if (lowered.patch) {
      result.fixes.emplace_back(std::move(*lowered.patch));
    } else {
      result.state = DetectResult::State::declined;
      result.reason = lowered.reason;
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
