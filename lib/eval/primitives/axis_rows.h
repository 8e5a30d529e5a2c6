// AxisRows along one axis of a tensor: what scans, sorts and softmax work on.
#pragma once
#include <vector>

#include "lib/eval/kernel.h"

namespace md {

/// The tensor as [outer, length, inner]; element k of row (o, i) is at (o * length + k) * inner + i.
struct AxisRows {
  std::size_t outer = 1, length = 1, inner = 1;
  std::size_t first(std::size_t o, std::size_t i) const { return o * length * inner + i; }
  std::size_t count() const { return outer * inner; }
};

inline AxisRows rows_along(const Shape& shape, std::size_t dim) {
  const std::span<const std::int64_t> dims(shape);
  if (shape.empty()) return {};
  return {static_cast<std::size_t>(product(dims.first(dim))), static_cast<std::size_t>(dims[dim]),
          static_cast<std::size_t>(product(dims.subspan(dim + 1)))};
}

/// f(number of the row, its first element); elements are `inner` apart.
template <class F>
void each_row_along(const AxisRows& rows, F&& f) {
  for (std::size_t o = 0; o < rows.outer; ++o)
    for (std::size_t i = 0; i < rows.inner; ++i) f(o * rows.inner + i, rows.first(o, i));
}

}  // namespace md
