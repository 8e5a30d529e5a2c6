// BATCH_MATMUL with adj_y and at most 8 rows: before 2.1.5 the right operand is taken for weights, which come
// in fours (the target's table has the same condition).
#include <fmt/format.h>

#include <numeric>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

Patch plain_product(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index,
                     "TRANSPOSE of the right operand, then a plain product");
  TfliteBuilder ops(patch);
  const ValueId right = node.inputs[1];
  const Shape shape = context.graph.value(right).shape;
  std::vector<std::int64_t> permutation(shape.size());
  std::iota(permutation.begin(), permutation.end(), std::int64_t{0});
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  Shape turned = shape;
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  const auto view = StridedView::whole(shape).transpose(permutation);
  const bool stored = patch.value(right).is_constant() && view.has_value();
  const ValueId moved = stored ? ops.move(right, *view, turned) : ops.transpose(right, permutation);
  if (moved == none_id) return {};
  ops.batch_matmul(node.inputs[0], moved, false, false, node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT065(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  if (!context.fails()) return results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "BATCH_MATMUL" || node.inputs.size() != 2 || !node.attrs.flag("adj_y") ||
        node.attrs.flag("adj_x"))
      continue;
    const Value& left = graph.value(node.inputs[0]);
    const Value& right = graph.value(node.inputs[1]);
    if (!is_static(left) || !is_static(right) || left.rank() < 2 || right.rank() < 2) continue;
    if (is_constant_operand(graph, node.inputs[1]) && right.rank() == 2) continue;  // a layer: LRT023
    const std::int64_t rows = left.shape[left.shape.size() - 2], inner = left.shape.back(),
                       columns = right.shape[right.shape.size() - 2];
    if (rows > 8 || (inner % 4 == 0 && columns % 4 == 0)) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = fmt::format(
        "BATCH_MATMUL of {} rows with a transposed operand of {} columns and inner length {}: up to 8 rows, "
        "both must "
        "be multiples of 4 before LiteRT 2.1.5",
        rows, columns, inner);
    Patch patch = plain_product(context, id);
    if (patch.empty()) {
      result.state = DetectResult::State::declined;
      result.reason = "the right operand is a quantized or sparse constant";
    } else {
      result.fixes.emplace_back(std::move(patch));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
