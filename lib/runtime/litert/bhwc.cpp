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

std::optional<Bhwc> bhwc_of(const Shape& shape) {
  switch (shape.size()) {
    case 0:
      return Bhwc{};
    case 1:
      return Bhwc{shape[0], 1, 1, 1};
    case 2:
      return Bhwc{shape[0], 1, 1, shape[1]};
    case 3:
      return Bhwc{shape[0], 1, shape[1], shape[2]};
    case 4:
      return Bhwc{shape[0], shape[1], shape[2], shape[3]};
    default:
      return std::nullopt;
  }
}

}  // namespace md
