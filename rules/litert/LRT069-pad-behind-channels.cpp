// PAD behind the channels, up to 2.2.0: the unused places of the last four channels come into view.
#include <fmt/format.h>

#include <algorithm>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

Patch along_width(const DetectContext& context, NodeId id, std::int64_t behind) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "PAD along an axis that is not the last");
  TfliteBuilder ops(patch);
  const Shape& shape = context.graph.value(node.inputs[0]).shape;
  const std::int64_t numbers = shape.back(), rows = *element_count(shape) / numbers;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = ops.reshape(inputs[0], Shape{1, rows, numbers, 1});
  const std::vector<double> widths{0, 0, 0, 0, 0, static_cast<double>(behind), 0, 0};
  inputs[1] = patch.add_constant("paddings", DType::i32, {4, 2}, widths);
  const ValueId padded = ops.value_like(node.outputs[0], Shape{1, rows, numbers + behind, 1});
  ops.copy_node(node, std::move(inputs), {padded});
  ops.reshape(padded, context.graph.value(node.outputs[0]).shape, node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT069(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  if (!context.fails()) return results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if ((node.op != "PAD" && node.op != "PADV2") || node.inputs.size() < 2) continue;
    const ValueId data = node.inputs[0];
    if (!is_runtime_operand(graph, data) || graph.is_input(data) || !is_float_value(graph, data)) continue;
    const Value& input = graph.value(data);
    const auto widths = integer_values(graph, node.inputs[1]);
    if (!is_static(input) || input.rank() < 3 || input.rank() > 4 || !widths ||
        widths->size() != 2 * input.shape.size() || input.shape.back() % 4 == 0)
      continue;
    const bool only_behind = widths->back() > 0 && std::all_of(widths->begin(), widths->end() - 1,
                                                               [](std::int64_t w) { return w == 0; });
    if (!only_behind) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.likelihood = Likelihood::possible;
    result.message = fmt::format(
        "{} behind {} channels, no multiple of four: what the operator before it left in the unused places "
        "comes "
        "into view before LiteRT 2.3.0",
        node.op, input.shape.back());
    result.fixes.emplace_back(along_width(context, id, widths->back()));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
