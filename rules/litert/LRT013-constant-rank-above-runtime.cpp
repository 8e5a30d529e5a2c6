// An elementwise operator whose operands have different ranks, where the lower rank is that of a runtime
// value: the delegate lays rank 3 out as (B,1,W,C) and rank 4 as (B,H,W,C), and the leading axis of the first
// (heads, say) is taken for the batch of the second.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"
#include "lib/rule/page/operator_index.h"
#include "lib/runtime/litert/bhwc.h"

namespace md {
namespace {

bool is_quantized(const Value& value) {
  return is_integer(value.dtype) && value.quantization && !value.quantization->scale.empty();
}

/// The operand is smaller than half a step of the result (the mask's scale is coarse): what becomes of it
/// does not show.
bool vanishes(const Value& operand, const Value& result) {
  return is_quantized(operand) && is_quantized(result) &&
         operand.quantization->scale[0] * 128 < result.quantization->scale[0] / 2;
}

/// Which operand (0 or 1) has to be reshaped; -1: the accelerator computes this node right.
int misread_operand(const Graph& graph, const Node& node, bool runtime_pairs_too) {
  if (!is_root("binary elementwise", node.op, graph.dialect) || node.inputs.size() != 2 ||
      node.inputs[0] < 0 || node.inputs[1] < 0)
    return -1;
  const Value& a = graph.value(node.inputs[0]);
  const Value& b = graph.value(node.inputs[1]);
  if (a.rank() == b.rank() || !is_static(a) || !is_static(b) || a.rank() > 4 || b.rank() > 4) return -1;
  const int low = a.rank() < b.rank() ? 0 : 1;
  const Value& lower = low == 0 ? a : b;
  if (lower.rank() == 0 || !is_runtime_operand(graph, node.inputs[static_cast<std::size_t>(low)])) return -1;
  const bool floats = is_float_value(graph, node.inputs[0]) && is_float_value(graph, node.inputs[1]);
  const bool quantized = is_quantized(a) && is_quantized(b);
  if (!floats && !quantized) return -1;
  if (is_constant_operand(graph, node.inputs[static_cast<std::size_t>(1 - low)]))
    return lower.shape[0] == 1 || (quantized && vanishes(lower, graph.value(node.outputs[0]))) ? -1 : low;
  if (quantized)
    return low;  // computed int8 operands of different rank: wrong for all of 141 shape pairs, on every
                 // version
  if (!runtime_pairs_too || (node.op != "ADD" && node.op != "MUL")) return -1;
  // Two runtime values, before 2.2.0: right when the second broadcasts along H or W, when the channels
  // differ, or when both already have the output's size (294 shape pairs measured, all explained by this).
  const auto p = bhwc_of(a.shape), q = bhwc_of(b.shape);
  const auto out = element_count(graph.value(node.outputs[0]).shape);
  const bool same_size = element_count(a.shape) == out && element_count(b.shape) == out;
  return p->c == q->c && !same_size && p->h <= q->h && p->w <= q->w ? low : -1;
}

}  // namespace

std::vector<DetectResult> LRT013(const DetectContext& context) {
  const Graph& graph = context.graph;
  const bool runtime_pairs_too = context.fails("computed pairs");
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    const int low = misread_operand(graph, node, runtime_pairs_too);
    if (low < 0) continue;
    const ValueId operand = node.inputs[static_cast<std::size_t>(low)];
    const Value& lower = graph.value(operand);
    const Value& higher = graph.value(node.inputs[static_cast<std::size_t>(1 - low)]);
    Shape aligned(static_cast<std::size_t>(higher.rank() - lower.rank()), 1);
    aligned.insert(aligned.end(), lower.shape.begin(), lower.shape.end());
    PatchBuilder patch(graph, context.graph_index,
                       fmt::format("RESHAPE the runtime operand to rank {}", higher.rank()));
    TfliteBuilder ops(patch);
    patch.rewire(id, low, ops.reshape(operand, aligned));
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = fmt::format(
        "{} of [{}] and [{}]: the accelerator takes the leading axis ({}) for the batch, so index 0 of it is "
        "right and the others are wrong (in attention: token 0 right, later tokens wrong)",
        node.op, shape_text(lower.shape), shape_text(higher.shape), lower.shape[0]);
    result.words = {{"rank", std::to_string(higher.rank())}, {"aligned", shape_text(aligned)}};
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
