// Regular patterns in constant indices: what a GATHER_ND really does.
#pragma once
#include <optional>
#include <span>

#include "lib/graph/graph.h"

namespace md {

/// A slice with strides, for every axis of what is indexed.
struct IndexGrid {
  Shape begin, end, stride;
};

/// `indices` (row-major, of shape (..., k)) pick, in row order, exactly what begin:end:stride picks from the
/// first k axes of `bounds`, in which the result has one dimension an index axis; the other axes are whole.
/// Strides are positive.
std::optional<IndexGrid> find_grid(std::span<const double> indices, const Shape& shape, const Shape& bounds);

struct Reflection {
  std::int64_t before = 0, after = 0;
};
/// Indices before..1, 0..n-1, n-2..n-1-after: a mirror that does not repeat the border (MIRROR_PAD REFLECT).
std::optional<Reflection> find_reflection(std::span<const double> indices, std::int64_t n);

}  // namespace md
