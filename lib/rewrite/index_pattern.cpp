#include "lib/rewrite/index_pattern.h"

namespace md {

std::optional<IndexGrid> find_grid(std::span<const double> indices, const Shape& shape, const Shape& bounds) {
  if (shape.empty()) return std::nullopt;
  const auto depth = static_cast<std::size_t>(shape.back());
  const Shape lattice(shape.begin(), shape.end() - 1);
  const auto points = element_count(lattice);
  if (depth == 0 || depth > bounds.size() || lattice.size() != depth || !points || *points == 0)
    return std::nullopt;
  if (indices.size() != static_cast<std::size_t>(*points) * depth) return std::nullopt;
  IndexGrid grid;
  grid.begin.assign(bounds.size(), 0);
  grid.stride.assign(bounds.size(), 1);
  grid.end = bounds;
  std::size_t inner = static_cast<std::size_t>(*points);
  for (std::size_t d = 0; d < depth; ++d) {
    inner /= static_cast<std::size_t>(lattice[d]);
    const double first = indices[d];
    const double step = lattice[d] > 1 ? indices[inner * depth + d] - first : 1;
    const double last = first + step * static_cast<double>(lattice[d] - 1);
    if (first < 0 || step < 1 || last >= static_cast<double>(bounds[d])) return std::nullopt;
    grid.begin[d] = static_cast<std::int64_t>(first);
    grid.stride[d] = static_cast<std::int64_t>(step);
    grid.end[d] = static_cast<std::int64_t>(last) + 1;
  }
  Shape at(depth, 0);
  for (std::size_t p = 0; p < static_cast<std::size_t>(*points); ++p) {
    for (std::size_t d = 0; d < depth; ++d)
      if (indices[p * depth + d] != static_cast<double>(grid.begin[d] + grid.stride[d] * at[d]))
        return std::nullopt;
    for (std::size_t d = depth; d-- > 0;) {
      if (++at[d] < lattice[d]) break;
      at[d] = 0;
    }
  }
  return grid;
}

std::optional<Reflection> find_reflection(std::span<const double> indices, std::int64_t n) {
  const auto size = static_cast<std::int64_t>(indices.size());
  if (n < 2 || size <= n) return std::nullopt;
  const auto before = static_cast<std::int64_t>(indices[0]);
  if (before < 0 || before >= n || before > size - n) return std::nullopt;
  const std::int64_t after = size - n - before;
  if (after >= n) return std::nullopt;
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t expected = i - before;
    if (expected < 0) expected = -expected;
    if (expected >= n) expected = 2 * (n - 1) - expected;
    if (indices[static_cast<std::size_t>(i)] != static_cast<double>(expected)) return std::nullopt;
  }
  return Reflection{before, after};
}

}  // namespace md
