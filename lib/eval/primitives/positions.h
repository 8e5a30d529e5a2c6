// Multi-indices and flat positions of elements, for kernels that look at each element once.
#pragma once
#include <optional>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// numpy's rule for any number of shapes; nullopt when they do not fit.
std::optional<Shape> broadcast_shapes(const std::vector<Shape>& shapes);
/// For every element of `shape` the flat position in a tensor of `from`, which is broadcast to it.
std::vector<std::int64_t> broadcast_positions(const Shape& from, const Shape& shape);
/// For every element of `shape`, f(index) with its multi-index.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t k = 0; k < count; ++k) {
    f(index);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace md
