// CUMSUM of integers: the accelerator sums floating-point numbers.
#include <fmt/format.h>

#include <span>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT066(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "CUMSUM" || node.inputs.size() < 2 || !is_runtime_operand(graph, node.inputs[0])) continue;
    const Value& input = graph.value(node.inputs[0]);
    const auto axis = integer_values(graph, node.inputs[1]);
    if (!is_integer(input.dtype) || input.dtype == DType::i64 || !is_static(input)) continue;
    if (!axis || axis->size() != 1 || input.quantization) continue;
    const std::int64_t place = axis->front() < 0 ? axis->front() + input.rank() : axis->front();
    if (place < 0 || place >= input.rank()) continue;
    PatchBuilder patch(graph, context.graph_index, "CAST, CUMSUM of floating-point numbers, CAST");
    TfliteBuilder ops(patch);
    const ValueId numbers = ops.cast(node.inputs[0], DType::f32);
    const ValueId sums = ops.value_like(numbers, input.shape);
    const double along = static_cast<double>(place);
    const ValueId where =
        patch.add_constant("axis", DType::i32, graph.value(node.inputs[1]).shape, std::span(&along, 1));
    ops.copy_node(node, {numbers, where}, {sums});
    ops.cast(sums, graph.value(node.outputs[0]).dtype, node.outputs[0]);
    patch.remove(id);
    const Node* producer = producer_of(graph, node.inputs[0]);
    const bool bits = producer != nullptr && producer->op == "CAST" &&
                      graph.value(producer->inputs[0]).dtype == DType::boolean;
    const bool shown = bits && input.shape[static_cast<std::size_t>(place)] <= 2048;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = fmt::format("CUMSUM of integers ({})", shape_text(input.shape));
    result.fixes.emplace_back(patch.take()).assumes = !shown;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
