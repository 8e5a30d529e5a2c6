// SELECT_V2 whose condition has a lower rank than its output: the delegate lays the condition out by its own
// rank, so its leading axis becomes a batch that the output does not have (the kernel cannot be built), or
// another one (wrong result).
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT009(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "SELECT_V2" || node.inputs.size() != 3) continue;
    const Value& condition = graph.value(node.inputs[0]);
    const Value& output = graph.value(node.outputs[0]);
    if (!is_static(condition) || !is_static(output) || output.rank() > 4) continue;
    if (condition.rank() == 0 || condition.rank() >= output.rank() || condition.shape[0] == 1) continue;
    Shape aligned(static_cast<std::size_t>(output.rank() - condition.rank()), 1);
    aligned.insert(aligned.end(), condition.shape.begin(), condition.shape.end());
    PatchBuilder patch(graph, context.graph_index, fmt::format("give the condition rank {}", output.rank()));
    TfliteBuilder ops(patch);
    const ValueId moved = ops.move(node.inputs[0], StridedView::whole(condition.shape), aligned);
    DetectResult result;
    result.nodes = {id};
    result.value = node.inputs[0];
    result.message = fmt::format(
        "SELECT_V2 to [{}] with a condition of [{}]: the accelerator takes its leading axis ({}) for the "
        "batch; {}",
        shape_text(output.shape), shape_text(condition.shape), condition.shape[0],
        output.shape[0] == 1 ? "the kernel cannot be built, with or without CPU fallback"
                             : "the result is wrong");
    result.words["aligned"] = shape_text(aligned);
    // move() gives the value itself when no operator is needed for the view: then only its shape is missing.
    patch.rewire(id, 0,
                 moved == node.inputs[0] || moved == none_id ? ops.reshape(node.inputs[0], aligned) : moved);
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
