// Sparse constants (TFLite's SparsityParameters) written out densely.
#pragma once
#include <optional>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// The bytes of the dense tensor, row-major in the value's type; what is not stored is 0. nullopt: not a
/// sparse constant, a type of less than a byte, or segments, indices and sizes that do not fit each other or
/// the shape.
std::optional<std::vector<std::uint8_t>> dense_bytes(const Value& value);

}  // namespace md
