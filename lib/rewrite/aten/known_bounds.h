// What an exported program itself shows about integers and truth values: bounds that hold for every input, so
// that an assumption about them is none.
#pragma once
#include <optional>

#include "lib/graph/graph.h"
#include "lib/op/constants.h"

namespace md {

/// Bounds of an integer, boolean or symbolic value (a float only where it is a constant without NaN),
/// inclusive; true is 1. Follows constants, clamps, remainders, positions (argmax), ranges, comparisons,
/// arithmetic that cannot wrap, and what moves, joins or reads elements. nullopt: nothing is known.
std::optional<ValueRange> aten_range(const Graph& graph, ValueId id);

/// True when a condition holds whatever the inputs are.
bool aten_always_true(const Graph& graph, ValueId condition);

}  // namespace md
