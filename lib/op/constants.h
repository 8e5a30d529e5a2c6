// What is known about a value without running the model: constants (through DEQUANTIZE) and ranges.
#pragma once
#include <optional>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// The constant that a value is, or that a DEQUANTIZE makes it from (fp16 and int8 weights); none_id when it
/// is neither.
ValueId constant_source(const Graph& graph, ValueId id);
inline bool is_constant(const Graph& graph, ValueId id) { return constant_source(graph, id) != none_id; }

/// Real numbers of a constant (dequantized when quantized, and looked at through DEQUANTIZE). nullopt: not a
/// constant, or one without numbers, or sparse.
std::optional<std::vector<double>> constant_numbers(const Graph& graph, ValueId id);
/// Exact integers of an integer constant.
std::optional<std::vector<std::int64_t>> constant_integers(const Graph& graph, ValueId id);

/// Bounds that hold for every input of the model, inclusive; NaN is not excluded by them.
struct ValueRange {
  double low = 0, high = 0;
};
/// Follows the operators that made the value a few steps back: constants, RELU6, LOGISTIC, SOFTMAX, MAXIMUM
/// with a constant, and what moves or joins them. nullopt: nothing is known.
std::optional<ValueRange> known_range(const Graph& graph, ValueId id);

}  // namespace md
