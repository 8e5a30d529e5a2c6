#include "lib/runtime/litert/bhwc.h"

#include <fmt/format.h>

namespace md {

std::string Bhwc::text() const { return fmt::format("{{bhwc, {{{}, {}, {}, {}}}}}", b, h, w, c); }

Bhwc bhwc(const Shape& shape) {
  const auto dim = [&](std::size_t axis) { return shape[axis] < 0 ? std::int64_t{1} : shape[axis]; };
  switch (shape.size()) {
    case 0:
      return {};
    case 1:
      return {dim(0), 1, 1, 1};
    case 2:
      return {dim(0), 1, 1, dim(1)};
    case 3:
      return {dim(0), 1, dim(1), dim(2)};
    default:
      return {dim(0), dim(1), dim(2), dim(3)};
  }
}

}  // namespace md
