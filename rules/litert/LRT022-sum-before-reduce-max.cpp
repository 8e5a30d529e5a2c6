// ADD read by REDUCE_MAX or REDUCE_MIN alone: the accelerator adds inside the reduction, but starts it from
// an operand of the ADD, not from the sum. Wrong wherever that operand is beyond every sum.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT022(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& reduce = graph.node(id);
    if ((reduce.op != "REDUCE_MAX" && reduce.op != "REDUCE_MIN") || reduce.inputs.empty()) continue;
    const ValueId sum = reduce.inputs[0];
    const Node* add = producer_of(graph, sum);
    if (!add || !is_private(graph, sum) || !is_float_value(graph, sum)) continue;
    if ((add->op != "ADD" && add->op != "ADD_N") || add->inputs.size() != 2 ||
        fused_activation(*add) != "NONE")
      continue;
    const ValueId a = add->inputs[0], b = add->inputs[1];
    if (a == b || !is_runtime_operand(graph, a) || !is_runtime_operand(graph, b) ||
        graph.value(a).shape != graph.value(b).shape)
      continue;
    PatchBuilder patch(graph, context.graph_index, "MUL by 1.0 between the sum and the reduction");
    TfliteBuilder ops(patch);
    const double one = 1;
    patch.rewire(id, 0, ops.binary("MUL", sum, ops.floats("one", {}, {&one, 1}, graph.value(sum).dtype)));
    DetectResult result;
    result.nodes = {id, graph.producer(sum)};
    result.value = reduce.outputs[0];
    result.message = fmt::format(
        "{} of a sum: the accelerator starts from \"{}\" alone, the result is wrong where that is beyond "
        "every sum",
        reduce.op, graph.value(a).name);
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
