#include "lib/format/tflite/queries.h"

#include <algorithm>

#include "lib/graph/encode.h"
#include "lib/op/constants.h"

namespace md {
bool is_constant_operand(const Graph& graph, ValueId id) { return constant_source(graph, id) != none_id; }

bool is_runtime_operand(const Graph& graph, ValueId id) {
  return id >= 0 && constant_source(graph, id) == none_id;
}

std::optional<std::vector<double>> real_values(const Graph& graph, ValueId id) {
  const ValueId stored = constant_source(graph, id);
  return stored == none_id ? std::nullopt : decode(graph.value(stored), true);
}

std::optional<double> scalar_value(const Graph& graph, ValueId id) {
  const ValueId stored = constant_source(graph, id);
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

bool is_float_value(const Graph& graph, ValueId id) {
  return id >= 0 && (graph.value(id).dtype == DType::f32 || graph.value(id).dtype == DType::f16);
}

std::string_view fused_activation(const Node& node) {
  return node.attrs.text("fused_activation_function", "NONE");
}

}  // namespace md
