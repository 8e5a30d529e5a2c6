// BATCH_MATMUL with the constant on the left: the accelerator takes constants on the right only.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

std::vector<std::int64_t> last_two_swapped(std::size_t rank) {
  std::vector<std::int64_t> permutation(rank);
  for (std::size_t i = 0; i < rank; ++i) permutation[i] = static_cast<std::int64_t>(i);
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return permutation;
}

/// (A B)^T = B^T A^T: the constant, transposed in the file where it is not already, comes to the right.
Patch swap_operands(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "swap the operands, transpose the result");
  TfliteBuilder ops(patch);
  ValueId constant = node.inputs[0];
  if (!node.attrs.flag("adj_x")) {
    const Shape shape = ops.shape(constant);
    const auto permutation = last_two_swapped(shape.size());
    const auto view = StridedView::whole(shape).transpose(permutation);
    Shape turned = shape;
    std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
    if (!view || !ops.patch().value(constant).is_constant()) return {};
    constant = ops.move(constant, *view, turned);
    if (constant == none_id) return {};
  }
  // With a rank-2 constant the accelerator forgets adj_x (LRT023): then an operator transposes.
  ValueId x = node.inputs[1];
  bool transposed = !node.attrs.flag("adj_y");
  if (transposed && ops.shape(constant).size() == 2) {
    x = ops.transpose(x, last_two_swapped(ops.shape(x).size()));
    transposed = false;
  }
  const ValueId product = ops.batch_matmul(x, constant, transposed, false);
  ops.transpose(product, last_two_swapped(ops.shape(product).size()), node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT035(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "BATCH_MATMUL" || node.inputs.size() != 2) continue;
    if (!is_constant_operand(graph, node.inputs[0]) || !is_runtime_operand(graph, node.inputs[1])) continue;
    const Value& left = graph.value(node.inputs[0]);
    const Value& right = graph.value(node.inputs[1]);
    DetectResult result;
    result.nodes = {id};
    result.value = node.inputs[0];
    result.message =
        "BATCH_MATMUL with the constant on the left: the accelerator takes a constant on the right only";
    Patch patch;
    if (is_static(left) && is_static(right) && left.rank() >= 2 && right.rank() >= 2 && left.rank() <= 4 &&
        right.rank() <= 4)
      patch = swap_operands(context, id);
    if (patch.empty()) {
      result.state = DetectResult::State::declined;
      result.reason =
          "the constant is quantized per channel, comes out of a DEQUANTIZE, or a shape is not known";
    } else {
      result.fixes.emplace_back(std::move(patch));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
