// STABLEHLO_SORT, which no LiteRT runtime has: TOPK_V2 sorts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rewrite/unused_nodes.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

enum class Order { unknown, ascending, descending };

/// Which of the comparator's first two arguments a value is computed from (only that one): 0, 1, or -1.
int argument_behind(const Graph& body, ValueId value) {
  std::set<ValueId> seen;
  std::vector<ValueId> todo = {value};
  bool first = false, second = false;
  while (!todo.empty()) {
    const ValueId id = todo.back();
    todo.pop_back();
    if (id < 0 || !seen.insert(id).second) continue;
    if (id == body.inputs[0])
      first = true;
    else if (id == body.inputs[1])
      second = true;
    else if (const Node* node = producer_of(body, id))
      todo.insert(todo.end(), node->inputs.begin(), node->inputs.end());
  }
  return first == second ? (first ? 2 : -1) : first ? 0 : 1;
}

/// A comparator that orders by its first pair of arguments. What it does to zeros and NaN on the way is not
/// looked at.
Order order_of(const Graph& body) {
  if (body.inputs.size() < 2 || body.outputs.size() != 1) return Order::unknown;
  const Node* compare = producer_of(body, body.outputs[0]);
  if (!compare || compare->inputs.size() != 2) return Order::unknown;
  std::string direction(compare->op == "STABLEHLO_COMPARE" ? compare->attrs.text("comparison_direction")
                                                           : compare->op);
  const bool less = direction.find("_LT") != std::string::npos || direction == "LESS";
  const bool greater = direction.find("_GT") != std::string::npos || direction == "GREATER";
  if (less == greater) return Order::unknown;
  const int left = argument_behind(body, compare->inputs[0]),
            right = argument_behind(body, compare->inputs[1]);
  // Canonical zeros and NaN mix constants of the first argument into both sides: the second side still reads
  // the second.
  const bool forward = left == 0 && right >= 1, backward = left >= 1 && right == 0;
  if (forward == backward) return Order::unknown;
  return (less == forward) ? Order::ascending : Order::descending;
}

bool is_iota(const Graph& graph, ValueId id, std::size_t axis) {
  const auto numbers = integer_values(graph, id);
  const Shape& shape = graph.value(id).shape;
  if (!numbers || axis + 1 != shape.size()) return false;
  for (std::size_t i = 0; i < numbers->size(); ++i)
    if ((*numbers)[i] != static_cast<std::int64_t>(i) % shape.back()) return false;
  return true;
}

/// A reader that keeps the first rows of the sorted axis and all of the others. `sorted` has axes.
std::int64_t rows_kept(const Graph& graph, ValueId sorted, NodeId& slice) {
  const std::int64_t all = graph.value(sorted).shape.back();
  slice = none_id;
  if (!is_private(graph, sorted)) return all;
  const NodeId reader = only_reader(graph, sorted);
  const Node& node = graph.node(reader);
  if (node.op != "SLICE" || node.inputs.size() < 3) return all;
  const auto begin = integer_values(graph, node.inputs[1]);
  const Shape &from = graph.value(sorted).shape, &to = graph.value(node.outputs[0]).shape;
  if (to.size() != from.size()) return all;
  if (!begin || std::any_of(begin->begin(), begin->end(), [](std::int64_t b) { return b != 0; })) return all;
  for (std::size_t i = 0; i + 1 < from.size(); ++i)
    if (from[i] != to[i]) return all;
  slice = reader;
  return to.back();
}

Patch sort_patch(const DetectContext& context, NodeId id, Order order) {
  const Graph& graph = context.graph;
  const Node& node = graph.node(id);
  PatchBuilder patch(graph, context.graph_index,
                     order == Order::descending ? "TOPK_V2" : "TOPK_V2 of the negated values");
  TfliteBuilder ops(patch);
  const Shape shape = ops.shape(node.inputs[0]);
  NodeId first_slice = none_id, second_slice = none_id;
  std::int64_t rows = rows_kept(graph, node.outputs[0], first_slice);
  const bool with_indices = node.outputs.size() == 2;
  if (with_indices && rows_kept(graph, node.outputs[1], second_slice) != rows) {
    rows = shape.back();
    first_slice = second_slice = none_id;
  }
  Shape kept = shape;
  kept.back() = rows;
  const auto result_of = [&](NodeId slice, ValueId sorted) {
    return slice == none_id ? sorted : graph.node(slice).outputs[0];
  };
  const ValueId values = result_of(first_slice, node.outputs[0]);
  const bool negate = order == Order::ascending;
  const ValueId x = negate ? ops.unary("NEG", node.inputs[0]) : node.inputs[0];
  const ValueId largest = negate ? ops.value_like(x, kept) : values;
  const ValueId indices =
      with_indices ? result_of(second_slice, node.outputs[1]) : patch.add_value("indices", DType::i32, kept);
  const double k = static_cast<double>(rows);
  patch.add_node("TOPK_V2", {x, patch.add_constant("k", DType::i32, {}, {&k, 1})}, {largest, indices});
  if (negate) ops.unary("NEG", largest, values);
  patch.remove(id);
  if (first_slice != none_id) patch.remove(first_slice);
  if (second_slice != none_id && second_slice != first_slice) patch.remove(second_slice);
  remove_unused(patch);
  return patch.take();
}

/// STABLEHLO_COMPARE as the built-in comparison: comparators stay in the file, and the interpreter loads
/// every graph.
std::optional<DetectResult> compare_result(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  static constexpr std::array<std::pair<std::string_view, const char*>, 6> names = {{{"_EQ", "EQUAL"},
                                                                                     {"_NE", "NOT_EQUAL"},
                                                                                     {"_GE", "GREATER_EQUAL"},
                                                                                     {"_GT", "GREATER"},
                                                                                     {"_LE", "LESS_EQUAL"},
                                                                                     {"_LT", "LESS"}}};
  const std::string_view direction = node.attrs.text("comparison_direction", "_EQ");
  DetectResult result;
  result.nodes = {id};
  result.value = node.outputs[0];
  result.message = "STABLEHLO_COMPARE: no LiteRT runtime has a kernel for it";
  // A comparator as a whole is one comparison of its first pair: what it does to zeros and NaN on the way
  // goes, so that nothing is left of it that a delegate could stumble over.
  const Graph& graph = context.graph;
  if (const Order order = order_of(graph);
      order != Order::unknown && graph.outputs[0] == node.outputs[0] && context.graph_index != 0) {
    PatchBuilder patch(graph, context.graph_index, "one comparison");
    patch.add_node(order == Order::ascending ? "LESS" : "GREATER", {graph.inputs[0], graph.inputs[1]},
                   {node.outputs[0]});
    for (const NodeId other : graph.order) patch.remove(other);
    result.fixes.emplace_back(patch.take());
    return result;
  }
  for (const auto& [ending, op] : names) {
    if (!direction.ends_with(ending)) continue;
    PatchBuilder patch(context.graph, context.graph_index, op);
    patch.add_node(op, node.inputs, node.outputs);
    patch.remove(id);
    result.fixes.emplace_back(patch.take());
    return result;
  }
  return std::nullopt;
}

}  // namespace

std::vector<DetectResult> LRT047(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op == "STABLEHLO_COMPARE" && node.inputs.size() == 2)
      if (auto compare = compare_result(context, id)) results.push_back(std::move(*compare));
    if (node.op != "STABLEHLO_SORT" || node.inputs.empty()) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = "STABLEHLO_SORT: no LiteRT runtime has a kernel for it, the model cannot even be loaded";
    const Value& x = graph.value(node.inputs[0]);
    const auto body = node.attrs.integer("comparator_subgraph_index", -1);
    const Order order = body >= 0 && static_cast<std::size_t>(body) < context.model.graphs.size()
                            ? order_of(context.model.graphs[static_cast<std::size_t>(body)])
                            : Order::unknown;
    const std::int64_t axis = node.attrs.integer("dimension");
    const bool last = axis == x.rank() - 1 || (axis == -1 && x.rank() > 0);
    const bool indices = node.inputs.size() == 2 && node.outputs.size() == 2 &&
                         graph.value(node.inputs[1]).dtype == DType::i32 && last &&
                         is_iota(graph, node.inputs[1], static_cast<std::size_t>(x.rank() - 1));
    const bool fits = std::all_of(node.outputs.begin(), node.outputs.end(),
                                  [&](ValueId v) { return graph.value(v).shape == x.shape; });
    if (order == Order::unknown || !last || !fits || !is_static(x) || x.dtype != DType::f32 ||
        (node.inputs.size() != 1 && !indices)) {
      result.state = DetectResult::State::advice;
      result.reason =
          "only sorts of float values along the last axis (alone, or with their positions) are TOPK_V2; cut "
          "the model before it (--cut-before) and sort on the host";
    } else {
      result.fixes.emplace_back(sort_patch(context, id, order));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
