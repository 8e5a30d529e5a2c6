#include "lib/op/constants.h"

#include <algorithm>
#include <cmath>

#include "lib/graph/encode.h"
#include "lib/op/ops.h"

namespace md {
namespace {

constexpr int deepest_look = 12;

ValueRange join(ValueRange a, ValueRange b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

std::optional<ValueRange> range_of_constant(const Graph& graph, ValueId id) {
  const auto numbers = constant_numbers(graph, id);
  if (!numbers || numbers->empty()) return std::nullopt;
  ValueRange range{HUGE_VAL, -HUGE_VAL};
  for (const double v : *numbers) {
    if (std::isnan(v)) return std::nullopt;
    range = join(range, {v, v});
  }
  return range;
}

/// The range that an operator's result has whatever its operands are.
std::optional<ValueRange> range_of_op(std::string_view op) {
  if (op == "RELU" || op == "ABS" || op == "EXP" || op == "SQUARE" || op == "SQRT" ||
      op == "SQUARED_DIFFERENCE" || op == "RSQRT")
    return ValueRange{0, HUGE_VAL};
  if (op == "RELU6") return ValueRange{0, 6};
  if (op == "RELU_0_TO_1" || op == "LOGISTIC" || op == "SOFTMAX") return ValueRange{0, 1};
  if (op == "RELU_N1_TO_1" || op == "TANH" || op == "SIN" || op == "COS" || op == "SIGN")
    return ValueRange{-1, 1};
  return std::nullopt;
}

std::optional<ValueRange> range_of_activation(std::string_view activation) {
  if (activation == "TANH" || activation == "RELU" || activation == "RELU6" || activation == "RELU_N1_TO_1")
    return range_of_op(activation);
  return std::nullopt;
}

std::optional<ValueRange> look(const Graph& graph, ValueId id, int depth);

std::optional<ValueRange> joined(const Graph& graph, const Node& node, std::size_t first, int depth) {
  std::optional<ValueRange> range;
  for (std::size_t i = first; i < node.inputs.size(); ++i) {
    const auto part = look(graph, node.inputs[i], depth - 1);
    if (!part) return std::nullopt;
    range = range ? join(*range, *part) : *part;
  }
  return range;
}

std::optional<ValueRange> clamped(const Graph& graph, const Node& node, int depth) {
  const auto a = look(graph, node.inputs[0], depth - 1), b = look(graph, node.inputs[1], depth - 1);
  ValueRange x = a.value_or(ValueRange{-HUGE_VAL, HUGE_VAL}), y = b.value_or(ValueRange{-HUGE_VAL, HUGE_VAL});
  if (node.op == "MAXIMUM") return ValueRange{std::max(x.low, y.low), std::max(x.high, y.high)};
  return ValueRange{std::min(x.low, y.low), std::min(x.high, y.high)};
}

std::optional<ValueRange> look(const Graph& graph, ValueId id, int depth) {
  if (id < 0 || depth == 0) return std::nullopt;
  if (is_constant(graph, id)) return range_of_constant(graph, id);
  const NodeId producer = graph.producer(id);
  if (producer == none_id) return std::nullopt;
  const Node& node = graph.node(producer);
  if (auto range = range_of_op(node.op)) return range;
  if (auto range = range_of_activation(node.attrs.text("fused_activation_function"))) return range;
  const std::string_view op = node.op;
  if (op == "CONCATENATION" || op == "PACK") return joined(graph, node, 0, depth);
  if ((op == "SELECT" || op == "SELECT_V2") && node.inputs.size() == 3) return joined(graph, node, 1, depth);
  if (op == "PADV2" && node.inputs.size() == 3) {
    const auto x = look(graph, node.inputs[0], depth - 1), fill = look(graph, node.inputs[2], depth - 1);
    if (!x || !fill) return std::nullopt;
    return join(*x, *fill);
  }
  if ((op == "MAXIMUM" || op == "MINIMUM") && node.inputs.size() == 2) return clamped(graph, node, depth);
  const bool keeps = op == "RESHAPE" || op == "TRANSPOSE" || op == "SLICE" || op == "STRIDED_SLICE" ||
                     op == "GATHER" || op == "GATHER_ND" || op == "TILE" || op == "BROADCAST_TO" ||
                     op == "SQUEEZE" || op == "EXPAND_DIMS" || op == "MAX_POOL_2D" ||
                     op == "AVERAGE_POOL_2D" || op == "MEAN" || op == "REDUCE_MAX" || op == "REDUCE_MIN" ||
                     op == "RESIZE_NEAREST_NEIGHBOR" || op == "MIRROR_PAD" || op == "REVERSE_V2" ||
                     op == "DEPTH_TO_SPACE" || op == "SPACE_TO_DEPTH" || op == "UNPACK";
  if (keeps && !node.inputs.empty()) return look(graph, node.inputs[0], depth - 1);
  if (op == "PAD" && !node.inputs.empty()) {
    const auto x = look(graph, node.inputs[0], depth - 1);
    return x ? std::optional(join(*x, {0, 0})) : std::nullopt;
  }
  if (op == "SPLIT" && node.inputs.size() == 2) return look(graph, node.inputs[1], depth - 1);
  if (op == "SPLIT_V" && !node.inputs.empty()) return look(graph, node.inputs[0], depth - 1);
  return std::nullopt;
}

}  // namespace

ValueId constant_source(const Graph& graph, ValueId id) {
  if (id < 0) return none_id;
  if (graph.value(id).constant) return id;
  const NodeId producer = graph.producer(id);
  if (producer == none_id) return none_id;
  const Node& node = graph.node(producer);
  if (node.op != "DEQUANTIZE" || node.inputs.empty() || node.inputs[0] < 0 ||
      !graph.value(node.inputs[0]).constant)
    return none_id;
  return node.inputs[0];
}

std::optional<std::vector<double>> constant_numbers(const Graph& graph, ValueId id) {
  const ValueId source = constant_source(graph, id);
  if (source == none_id) return std::nullopt;
  return decode(graph.value(source), true);
}

std::optional<std::vector<std::int64_t>> constant_integers(const Graph& graph, ValueId id) {
  if (id < 0) return std::nullopt;
  return decode_integers(graph.value(id));
}

std::optional<ValueRange> known_range(const Graph& graph, ValueId id) {
  return look(graph, id, deepest_look);
}

}  // namespace md
