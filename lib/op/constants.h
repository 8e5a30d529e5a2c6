// What is known about a value without running the model: constants and ranges.
#pragma once
#include <optional>
#include <vector>

#include "lib/graph/graph.h"
#include "lib/op/ops.h"

namespace md {

/// The constant that a value is, or that it is restored from (OpSpec::restores: fp16 and int8 weights behind
/// a DEQUANTIZE); none_id when it is neither.
ValueId constant_source(const Graph& graph, ValueId id);
inline bool is_constant(const Graph& graph, ValueId id) { return constant_source(graph, id) != none_id; }

/// Real numbers of a constant (dequantized when quantized, and restored). nullopt: not a
/// constant, or one without numbers, or sparse.
std::optional<std::vector<double>> constant_numbers(const Graph& graph, ValueId id);
/// Exact integers of an integer constant.
std::optional<std::vector<std::int64_t>> constant_integers(const Graph& graph, ValueId id);

/// Follows the operators that made the value a few steps back, by their rows (OpSpec::range): constants,
/// activations, clamps, and what moves, joins or adds them. nullopt: nothing is known.
std::optional<ValueRange> known_range(const Graph& graph, ValueId id);

}  // namespace md
