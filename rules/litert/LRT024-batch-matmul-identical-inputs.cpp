// BATCH_MATMUL of a value with itself: the accelerator's graph aborts on the second edge, unless the batch is
// not 1, where it puts a reshape in between by itself.
#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT024(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "BATCH_MATMUL" || node.inputs.size() != 2 || node.inputs[0] != node.inputs[1]) continue;
    const ValueId operand = node.inputs[0];
    const Value& x = graph.value(operand);
    if (!is_runtime_operand(graph, operand) || !is_static(x) || x.rank() == 0 || x.shape[0] != 1) continue;
    PatchBuilder patch(graph, context.graph_index, "RESHAPE copy of one operand");
    TfliteBuilder ops(patch);
    patch.rewire(id, 1, ops.reshape(operand, x.shape));
    DetectResult result;
    result.nodes = {id};
    result.value = operand;
    result.message = "BATCH_MATMUL of a value with itself: the process aborts while it compiles the model";
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
