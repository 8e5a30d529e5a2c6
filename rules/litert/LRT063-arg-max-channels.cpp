// ARG_MAX over the channels when their number is no multiple of four: the accelerator's filling of zeros
// takes part, and wins over rows without a number of zero or more.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

Patch along_width(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "ARG_MAX along an axis that is not the last");
  TfliteBuilder ops(patch);
  const Shape& shape = context.graph.value(node.inputs[0]).shape;
  const std::int64_t numbers = shape.back(), rows = *element_count(shape) / numbers;
  const ValueId x = ops.reshape(node.inputs[0], Shape{1, rows, numbers, 1});
  const ValueId found = ops.value_like(node.outputs[0], Shape{1, rows, 1});
  ops.copy_node(node, {x, ops.int32s(Shape{2})}, {found});
  ops.reshape(found, context.graph.value(node.outputs[0]).shape, node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

/// NEG of what can't be negative: every row is without a positive number.
bool is_negated(const Graph& graph, ValueId id) {
  const Node* producer = producer_of(graph, id);
  return producer != nullptr && producer->op == "NEG" && is_non_negative(graph, producer->inputs[0]);
}

}  // namespace

std::vector<DetectResult> LRT063(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "ARG_MAX" || node.inputs.size() < 2 || !is_runtime_operand(graph, node.inputs[0]))
      continue;
    const Value& input = graph.value(node.inputs[0]);
    const auto axis = integer_values(graph, node.inputs[1]);
    if (!axis || axis->size() != 1 || !is_static(input) || input.rank() < 2 || input.rank() > 4) continue;
    if (!is_float_value(graph, node.inputs[0]) || graph.value(node.outputs[0]).dtype != DType::i32) continue;
    const std::int64_t place = axis->front() < 0 ? axis->front() + input.rank() : axis->front();
    const std::int64_t numbers = input.shape.back();
    if (place != input.rank() - 1 || numbers < 2 || numbers % 4 == 0) continue;
    if (is_non_negative(graph, node.inputs[0])) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.likelihood = is_negated(graph, node.inputs[0]) ? Likelihood::shown : Likelihood::possible;
    result.message = fmt::format(
        "ARG_MAX over {} channels, no multiple of four: where all of them are negative, the accelerator "
        "finds the "
        "zeros that it fills up with",
        numbers);
    result.fixes.emplace_back(along_width(context, id));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
