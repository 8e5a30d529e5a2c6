// BATCH_MATMUL whose operands have different numbers of matrices: the accelerator does not broadcast the
// smaller one. Right are: equal counts, a single transposed right operand (adj_y) with columns and an inner
// length in multiples of 4 that is not a rank-2 constant, and a rank-2 constant without adj_x and adj_y (it
// becomes a matrix product with weights, and the flags are forgotten).
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

std::int64_t matrices(const Shape& shape) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) count *= shape[i];
  return count;
}

Shape with_leading_ones(const Shape& shape, std::size_t rank) {
  Shape out(rank - shape.size(), 1);
  out.insert(out.end(), shape.begin(), shape.end());
  return out;
}

/// The operand repeated so that its batch axes are those of `batch` (the output's).
ValueId repeated(TfliteBuilder& ops, ValueId x, const Shape& out_shape) {
  if (ops.shape(x).size() > out_shape.size()) return none_id;
  const Shape aligned = with_leading_ones(ops.shape(x), out_shape.size());
  std::vector<std::int64_t> times(out_shape.size(), 1);
  for (std::size_t i = 0; i + 2 < out_shape.size(); ++i) {
    if (aligned[i] < 1 || out_shape[i] < 1) return none_id;
    times[i] = out_shape[i] / aligned[i];
  }
  const auto view = StridedView::whole(ops.shape(x)).reshape(aligned);
  const auto tiled = view ? view->tile(times) : std::nullopt;
  if (!tiled) return none_id;
  Shape result = aligned;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] *= times[i];
  if (ops.patch().value(x).is_constant()) return ops.move(x, *tiled, result);
  if (aligned != ops.shape(x)) x = ops.reshape(x, aligned);
  return ops.tile(x, times);
}

/// A matrix product with one right matrix: the left operand's batches become rows.
Patch fold_batches(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "fold the batches of the left operand into rows");
  TfliteBuilder ops(patch);
  const Shape left = ops.shape(node.inputs[0]), right = ops.shape(node.inputs[1]);
  const std::int64_t rows = matrices(left) * left[left.size() - 2];
  const bool constant = ops.patch().value(node.inputs[1]).is_constant();
  const Shape matrix(right.end() - 2, right.end());
  ValueId b = node.inputs[1];
  bool adj_y = node.attrs.flag("adj_y");
  if (constant) {  // of rank 2, where the accelerator forgets the flag: stored as it is read
    Shape turned = matrix;
    if (adj_y) std::swap(turned[0], turned[1]);
    const StridedView whole = StridedView::whole(matrix);
    const auto view = adj_y ? whole.transpose(std::vector<std::int64_t>{1, 0}) : whole;
    if (right != turned || adj_y) b = view ? ops.move(b, *view, turned) : none_id;
    adj_y = false;
  } else if (right.size() != 4) {
    b = ops.reshape(b, with_leading_ones(matrix, 4));
  }
  if (b == none_id) return {};
  const Shape folded = {1, 1, rows, left.back()};
  const ValueId a = ops.reshape(node.inputs[0], folded);
  const ValueId product = ops.batch_matmul(a, b, false, adj_y);
  ops.reshape(product, ops.shape(node.outputs[0]), node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

Patch repeat_operand(const DetectContext& context, NodeId id, int smaller) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "repeat the smaller operand with TILE");
  TfliteBuilder ops(patch);
  std::vector<ValueId> inputs = node.inputs;
  for (int operand = 0; operand < 2; ++operand) {
    ValueId& x = inputs[static_cast<std::size_t>(operand)];
    if (operand != smaller && matrices(ops.shape(x)) == matrices(ops.shape(node.outputs[0]))) continue;
    x = repeated(ops, x, ops.shape(node.outputs[0]));
    if (x == none_id) return {};
  }
  ops.copy_node(node, inputs, node.outputs);
  patch.remove(id);
  return patch.take();
}

ValueId with_last_axes_swapped(TfliteBuilder& ops, ValueId x) {
  std::vector<std::int64_t> permutation(ops.shape(x).size());
  std::iota(permutation.begin(), permutation.end(), std::int64_t{0});
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return ops.transpose(x, permutation);
}

/// x times the transpose of constant rows is what FULLY_CONNECTED computes, without a copy of the constant.
Patch as_fully_connected(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "FULLY_CONNECTED with the same weights");
  TfliteBuilder ops(patch);
  const ValueId x = node.attrs.flag("adj_x") ? with_last_axes_swapped(ops, node.inputs[0]) : node.inputs[0];
  ops.fully_connected(x, node.inputs[1], none_id, node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

Patch transposed_first(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index,
                     "TRANSPOSE of the left operand, then a plain product");
  TfliteBuilder ops(patch);
  const ValueId x = with_last_axes_swapped(ops, node.inputs[0]);
  ops.batch_matmul(x, node.inputs[1], false, false, node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

/// One transposed right matrix is read as weights, which come in fours.
bool is_right_as_weights(const Node& node, const Value& right) {
  return node.attrs.flag("adj_y") && right.shape.back() % 4 == 0 &&
         right.shape[right.shape.size() - 2] % 4 == 0;
}

}  // namespace

std::vector<DetectResult> LRT023(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "BATCH_MATMUL" || node.inputs.size() != 2 || !is_float_value(graph, node.outputs[0]))
      continue;
    const Value& left = graph.value(node.inputs[0]);
    const Value& right = graph.value(node.inputs[1]);
    if (!is_static(left) || !is_static(right) || left.rank() < 2 || right.rank() < 2 || left.rank() > 4 ||
        right.rank() > 4)
      continue;
    const Value& product = graph.value(node.outputs[0]);
    if (product.rank() != std::max(left.rank(), right.rank()) || matrices(left.shape) < 1 ||
        matrices(right.shape) < 1)
      continue;  // nothing is computed, or not what the operands say
    if (is_constant_operand(graph, node.inputs[0])) continue;  // refused, another rule's
    const bool adj_x = node.attrs.flag("adj_x"), adj_y = node.attrs.flag("adj_y");
    const bool rank_2_weights = right.rank() == 2 && is_constant_operand(graph, node.inputs[1]);
    const std::int64_t a = matrices(left.shape), b = matrices(right.shape);
    const bool transposed_weights = rank_2_weights && (adj_x || adj_y);
    if (!transposed_weights && (a == b || rank_2_weights || (b == 1 && is_right_as_weights(node, right))))
      continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = transposed_weights
                         ? fmt::format(
                               "BATCH_MATMUL with a rank-2 constant and {}: the accelerator forgets to "
                               "transpose, every value is wrong",
                               adj_x && adj_y ? "adj_x and adj_y"
                               : adj_x        ? "adj_x"
                                              : "adj_y")
                         : fmt::format(
                               "BATCH_MATMUL of {} and {} matrices ([{}] and [{}]): the accelerator does not "
                               "repeat the smaller operand, all but the first of them come out wrong",
                               a, b, shape_text(left.shape), shape_text(right.shape));
    const auto offer = [&](Patch patch, Exactness exactness) {
      if (!patch.empty()) result.fixes.emplace_back(std::move(patch), exactness);
    };
    // Products of nothing need no mending.
    const auto empty = [](const Value& value) { return element_count(value.shape).value_or(0) == 0; };
    if (empty(left) || empty(right) || empty(graph.value(node.outputs[0]))) continue;
    if (transposed_weights && adj_y) offer(as_fully_connected(context, id), Exactness::rounding);
    if (transposed_weights && !adj_y) offer(transposed_first(context, id), Exactness::exact);
    if (!transposed_weights && b == 1 && !adj_x) offer(fold_batches(context, id), Exactness::rounding);
    if (!transposed_weights) offer(repeat_operand(context, id, a < b ? 0 : 1), Exactness::exact);
    if (result.fixes.empty()) {
      result.state = DetectResult::State::declined;
      result.reason =
          "the operand that must be repeated is a quantized or sparse constant, or its matrices cannot be "
          "folded";
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
