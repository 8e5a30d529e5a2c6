// Questions that detectors of .tflite faults ask about a graph. A constant that comes out of a DEQUANTIZE
// (fp16 and int8 weights) counts as a constant here, as it does for the GPU delegate: look-through happens in
// this one place.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "lib/graph/graph.h"
#include "lib/runtime/litert/bhwc.h"

namespace md {

/// The node that makes the value, or null (a graph input, a constant, an absent operand).
const Node* producer_of(const Graph& graph, ValueId id);

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

/// The only reader of a value, none_id when there are none or several. Graph outputs do not count as readers.
NodeId only_reader(const Graph& graph, ValueId id);
/// The value has one reader and is not a graph output.
bool is_private(const Graph& graph, ValueId id);

/// All dimensions known.
bool is_static(const Value& value);
bool is_float_value(const Graph& graph, ValueId id);

/// No element can be negative: RELU, ABS, SOFTMAX and what only moves, pools or adds such values.
bool is_non_negative(const Graph& graph, ValueId id, int depth = 12);
/// One operand, same type and shape, element by element (EXP, RELU, ...); with two operands (ADD, MUL,
/// comparisons, ...).
bool is_unary_elementwise(std::string_view op);
bool is_binary_elementwise(std::string_view op);

/// The activation fused into a node: "NONE" when there is none.
std::string_view fused_activation(const Node& node);

/// The delegate's view of a shape, dynamic dimensions as they are; nullopt past rank 4.
std::optional<Bhwc> bhwc_of(const Shape& shape);

}  // namespace md
