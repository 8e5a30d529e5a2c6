// PAD and PADV2 that pad the batch axis, or pad a rank-3 value whose leading axis is not 1: the accelerator's
// padding kernel knows one batch only.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

ValueId padded(PatchBuilder& patch, TfliteBuilder& ops, const Node& like, ValueId x,
               const std::vector<std::int64_t>& widths) {
  Shape shape = ops.shape(x);
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] += widths[2 * i] + widths[2 * i + 1];
  const ValueId out = ops.value_like(like.outputs[0], shape);
  std::vector<ValueId> inputs = like.inputs;
  inputs[0] = x;
  inputs[1] = patch.add_constant("paddings", DType::i32, {static_cast<std::int64_t>(shape.size()), 2},
                                 std::vector<double>(widths.begin(), widths.end()));
  ops.copy_node(like, std::move(inputs), {out});
  return out;
}

/// Rank 3 moves to (1, leading, W, C). Rank 4: everything but the batch first, then the batch as height of
/// (1, B, H*W, C).
Patch pad_at_height(const DetectContext& context, NodeId id, const std::vector<std::int64_t>& widths) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "pad with the leading axis as height");
  TfliteBuilder ops(patch);
  ValueId x = node.inputs[0];
  const Shape out = ops.shape(node.outputs[0]);
  if (out.size() == 3) {
    const Shape in = ops.shape(x);
    x = ops.reshape(x, Shape{1, in[0], in[1], in[2]});
    std::vector<std::int64_t> moved = {0, 0};
    moved.insert(moved.end(), widths.begin(), widths.end());
    x = padded(patch, ops, node, x, moved);
  } else {
    std::vector<std::int64_t> inner = widths;
    inner[0] = inner[1] = 0;
    for (std::size_t i = 2; i < inner.size(); ++i)
      if (inner[i] != 0) {
        x = padded(patch, ops, node, x, inner);
        break;
      }
    const Shape in = ops.shape(x);
    x = ops.reshape(x, Shape{1, in[0], in[1] * in[2], in[3]});
    x = padded(patch, ops, node, x, {0, 0, widths[0], widths[1], 0, 0, 0, 0});
  }
  ops.reshape(x, out, node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT026(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if ((node.op != "PAD" && node.op != "PADV2") || node.inputs.size() < 2 ||
        !is_runtime_operand(graph, node.inputs[0]))
      continue;
    const Value& input = graph.value(node.inputs[0]);
    const auto widths = integer_values(graph, node.inputs[1]);
    if (!is_static(input) || !widths || widths->size() != 2 * input.shape.size()) continue;
    const bool batch_padded = (*widths)[0] != 0 || (*widths)[1] != 0;
    const bool misread = input.rank() == 3 ? input.shape[0] != 1 || batch_padded
                                           : input.rank() == 4 && input.shape[0] == 1 && batch_padded;
    if (!misread) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message =
        batch_padded
            ? fmt::format(
                  "{} of the batch axis: the added entries are not the padding value on the accelerator",
                  node.op)
            : fmt::format(
                  "{} of [{}]: the accelerator takes the leading axis ({}) for the batch and pads wrongly",
                  node.op, shape_text(input.shape), input.shape[0]);
    result.fixes.emplace_back(pad_at_height(context, id, *widths));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
