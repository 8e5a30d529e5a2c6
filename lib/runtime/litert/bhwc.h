// The delegate's view of a shape.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "lib/graph/graph.h"

namespace md {

/// The delegate's four axes (batch, height, width, channels) of a tensor of rank 0 to 4: rank 1 is the batch,
/// rank 2 batch and channels, rank 3 batch, width and channels. Higher ranks keep their first four axes.
struct Bhwc {
  std::int64_t b = 1, h = 1, w = 1, c = 1;
  bool operator==(const Bhwc&) const = default;
  std::string text() const;  ///< "{bhwc, {1, 1, 16, 16}}"
};
/// A dynamic dimension counts as 1, the size that the runtime starts with.
Bhwc bhwc(const Shape& shape);

/// The delegate's view of a shape, dynamic dimensions as they are; nullopt past rank 4.
std::optional<Bhwc> bhwc_of(const Shape& shape);

}  // namespace md
