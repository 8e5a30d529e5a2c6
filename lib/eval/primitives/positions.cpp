#include "lib/eval/primitives/positions.h"

#include "lib/eval/kernel.h"

namespace md {

std::optional<Shape> broadcast_shapes(const std::vector<Shape>& shapes) {
  Shape out;
  for (const Shape& shape : shapes) {
    if (shape.size() > out.size()) out.insert(out.begin(), shape.size() - out.size(), 1);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& o = out[out.size() - shape.size() + d];
      if (o != shape[d] && o != 1 && shape[d] != 1) return std::nullopt;
      if (o == 1) o = shape[d];
    }
  }
  return out;
}

std::vector<std::int64_t> broadcast_positions(const Shape& from, const Shape& shape) {
  const auto strides = strides_of(from);
  std::vector<std::int64_t> out;
  const std::size_t offset = shape.size() - from.size();
  for_each_index(shape, [&](const std::vector<std::int64_t>& index) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < from.size(); ++d)
      if (from[d] != 1) at += index[offset + d] * strides[d];
    out.push_back(at);
  });
  return out;
}

}  // namespace md
