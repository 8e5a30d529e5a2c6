#include "lib/format/tflite/queries.h"

#include <algorithm>
#include <array>

#include "lib/graph/encode.h"

namespace md {
namespace {

template <std::size_t N>
bool one_of(std::string_view op, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

/// The stored constant behind a value: itself, or what a DEQUANTIZE reads.
ValueId stored_constant(const Graph& graph, ValueId id) {
  for (int depth = 0; id >= 0 && depth < 3; ++depth) {
    if (graph.value(id).is_constant()) return id;
    const Node* node = producer_of(graph, id);
    if (!node || (node->op != "DEQUANTIZE" && node->op != "DENSIFY") || node->inputs.empty()) return none_id;
    id = node->inputs[0];
  }
  return none_id;
}

}  // namespace

const Node* producer_of(const Graph& graph, ValueId id) {
  if (id < 0) return nullptr;
  const NodeId node = graph.producer(id);
  return node == none_id ? nullptr : &graph.node(node);
}

bool is_constant_operand(const Graph& graph, ValueId id) { return stored_constant(graph, id) != none_id; }

bool is_runtime_operand(const Graph& graph, ValueId id) {
  return id >= 0 && stored_constant(graph, id) == none_id;
}

std::optional<std::vector<double>> real_values(const Graph& graph, ValueId id) {
  const ValueId stored = stored_constant(graph, id);
  return stored == none_id ? std::nullopt : decode(graph.value(stored), true);
}

std::optional<double> scalar_value(const Graph& graph, ValueId id) {
  const ValueId stored = stored_constant(graph, id);
  if (stored == none_id || element_count(graph.value(stored).shape) != 1) return std::nullopt;
  const auto values = decode(graph.value(stored), true);
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> integer_values(const Graph& graph, ValueId id) {
  return id < 0 ? std::nullopt : decode_integers(graph.value(id));
}

std::optional<std::vector<std::int64_t>> reduction_axes(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || node.inputs[0] < 0) return std::nullopt;
  auto axes = integer_values(graph, node.inputs[1]);
  if (!axes) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(graph.value(node.inputs[0]).shape.size());
  for (std::int64_t& axis : *axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  std::sort(axes->begin(), axes->end());
  axes->erase(std::unique(axes->begin(), axes->end()), axes->end());
  return axes;
}

NodeId only_reader(const Graph& graph, ValueId id) {
  NodeId reader = none_id;
  for (const Use& use : graph.uses(id)) {
    if (reader != none_id && reader != use.node) return none_id;
    reader = use.node;
  }
  return reader;
}

bool is_private(const Graph& graph, ValueId id) {
  return !graph.is_output(id) && only_reader(graph, id) != none_id;
}

bool is_static(const Value& value) {
  return std::all_of(value.shape.begin(), value.shape.end(), [](std::int64_t d) { return d >= 0; });
}

bool is_float_value(const Graph& graph, ValueId id) {
  return id >= 0 && (graph.value(id).dtype == DType::f32 || graph.value(id).dtype == DType::f16);
}

bool is_unary_elementwise(std::string_view op) {
  static constexpr std::array<std::string_view, 29> names = {
      "ABS",   "CEIL",       "COS",          "ELU",         "EXP",           "FLOOR",
      "GELU",  "HARD_SWISH", "LEAKY_RELU",   "LOG",         "LOGISTIC",      "NEG",
      "RELU",  "RELU6",      "RELU_N1_TO_1", "RELU_0_TO_1", "ROUND",         "RSQRT",
      "SIGN",  "SIN",        "SQRT",         "SQUARE",      "TANH",          "LOGICAL_NOT",
      "PRELU", "QUANTIZE",   "DEQUANTIZE",   "CAST",        "STABLEHLO_CBRT"};
  return one_of(op, names);
}

bool is_binary_elementwise(std::string_view op) {
  static constexpr std::array<std::string_view, 19> names = {
      "ADD",           "SUB",         "MUL",        "DIV",
      "MAXIMUM",       "MINIMUM",     "POW",        "SQUARED_DIFFERENCE",
      "FLOOR_DIV",     "FLOOR_MOD",   "ATAN2",      "EQUAL",
      "NOT_EQUAL",     "LESS",        "LESS_EQUAL", "GREATER",
      "GREATER_EQUAL", "LOGICAL_AND", "LOGICAL_OR"};
  return one_of(op, names);
}

std::string_view fused_activation(const Node& node) {
  return node.attrs.text("fused_activation_function", "NONE");
}

bool is_non_negative(const Graph& graph, ValueId id, int depth) {
  if (id < 0 || depth == 0) return false;
  if (is_constant_operand(graph, id)) {
    const auto values = real_values(graph, id);
    return values && std::all_of(values->begin(), values->end(), [](double v) { return v >= 0; });
  }
  const Node* node = producer_of(graph, id);
  if (!node) return false;
  static constexpr std::array<std::string_view, 9> always = {
      "RELU", "RELU6", "RELU_0_TO_1", "ABS", "SQUARE", "SOFTMAX", "LOGISTIC", "EXP", "SQRT"};
  static constexpr std::array<std::string_view, 12> keeps = {"RESHAPE",
                                                             "TRANSPOSE",
                                                             "SLICE",
                                                             "STRIDED_SLICE",
                                                             "MAX_POOL_2D",
                                                             "AVERAGE_POOL_2D",
                                                             "PAD",
                                                             "SQUEEZE",
                                                             "EXPAND_DIMS",
                                                             "RESIZE_BILINEAR",
                                                             "RESIZE_NEAREST_NEIGHBOR",
                                                             "DEQUANTIZE"};
  static constexpr std::array<std::string_view, 5> keeps_all = {"ADD", "MUL", "MINIMUM", "CONCATENATION",
                                                                "QUANTIZE"};
  const std::string_view activation = fused_activation(*node);
  if (activation == "RELU" || activation == "RELU6" || one_of(node->op, always)) return true;
  const auto ok = [&](ValueId operand) { return is_non_negative(graph, operand, depth - 1); };
  if (one_of(node->op, keeps)) return ok(node->inputs[0]);
  if (one_of(node->op, keeps_all)) return std::all_of(node->inputs.begin(), node->inputs.end(), ok);
  if (node->op == "MAXIMUM") return std::any_of(node->inputs.begin(), node->inputs.end(), ok);
  if (node->op == "MUL" && node->inputs.size() == 2) return node->inputs[0] == node->inputs[1];
  return false;
}

std::optional<Bhwc> bhwc_of(const Shape& shape) {
  switch (shape.size()) {
    case 0:
      return Bhwc{};
    case 1:
      return Bhwc{shape[0], 1, 1, 1};
    case 2:
      return Bhwc{shape[0], 1, 1, shape[1]};
    case 3:
      return Bhwc{shape[0], 1, shape[1], shape[2]};
    case 4:
      return Bhwc{shape[0], shape[1], shape[2], shape[3]};
    default:
      return std::nullopt;
  }
}

}  // namespace md
