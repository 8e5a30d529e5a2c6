// Questions that detectors of .tflite faults ask about a graph. A constant that comes out of a DEQUANTIZE
// (fp16 and int8 weights) counts as a constant here, as it does for the GPU delegate: look-through happens in
// this one place.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "lib/graph/graph.h"
#include "lib/graph/queries.h"

namespace md {

/// A constant, or DEQUANTIZE (DENSIFY) of one. Absent operands are neither constant nor runtime.
bool is_constant_operand(const Graph& graph, ValueId id);
bool is_runtime_operand(const Graph& graph, ValueId id);
/// The constant's real values, through DEQUANTIZE; nullopt when it is not one or has no numbers.
std::optional<std::vector<double>> real_values(const Graph& graph, ValueId id);
/// The one number of a one-element constant.
std::optional<double> scalar_value(const Graph& graph, ValueId id);
/// A small integer parameter (shape, axes, paddings), exact.
std::optional<std::vector<std::int64_t>> integer_values(const Graph& graph, ValueId id);

/// Axes of a reduction, non-negative, ascending, distinct; nullopt when they are not constant or out of
/// range.
std::optional<std::vector<std::int64_t>> reduction_axes(const Graph& graph, const Node& node);

bool is_float_value(const Graph& graph, ValueId id);

/// The activation fused into a node: "NONE" when there is none.
std::string_view fused_activation(const Node& node);

}  // namespace md
