// A computed value of rank 0 next to an operand with dimensions: the delegate reads no tensor of rank 0.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT055(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (!is_binary_elementwise(node.op) || node.inputs.size() != 2) continue;
    for (const int place : {0, 1}) {
      const ValueId number = node.inputs[static_cast<std::size_t>(place)];
      const ValueId other = node.inputs[static_cast<std::size_t>(1 - place)];
      if (!is_runtime_operand(graph, number) || other < 0) continue;
      if (graph.value(number).rank() != 0 || graph.value(other).rank() == 0) continue;
      PatchBuilder patch(graph, context.graph_index, "RESHAPE the number to one dimension");
      TfliteBuilder ops(patch);
      patch.rewire(id, place, ops.reshape(number, Shape{1}));
      DetectResult result;
      result.nodes = {id};
      result.value = number;
      result.message = fmt::format(
          "{} of [{}] and a computed number without dimensions, which the accelerator does not read", node.op,
          shape_text(graph.value(other).shape));
      result.fixes.emplace_back(patch.take());
      results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace md
