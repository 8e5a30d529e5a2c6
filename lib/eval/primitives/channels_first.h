// Convolution windows over images whose channels come first ([channels, depth, height, width]): unfolded into
// the columns of a matrix, and folded back.
#pragma once
#include <array>
#include <cstddef>

#include "lib/eval/primitives/window.h"

namespace md {

/// Depth, height and width; axes that an operator does not have are of size 1.
struct Windows {
  std::array<Window, 3> axes;
  std::int64_t pixels_in() const { return axes[0].in * axes[1].in * axes[2].in; }
  std::int64_t rows_out() const { return axes[0].out * axes[1].out; }  ///< lines of results of one channel
  std::int64_t pixels_out() const { return rows_out() * axes[2].out; }
  std::int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
};

/// Row (channel, kernel position) of `columns`, for the results of the lines [first, last): the elements that
/// the kernel position meets, 0 outside the image. Rows are (last - first) * axes[2].out long.
template <class T>
void unfold_channels(const T* image, std::int64_t channels, const Windows& w, std::int64_t first,
                     std::int64_t last, T* columns);

/// The reverse: every number of `columns` is given to add(position in the image, number).
template <class T, class Add>
void fold_channels(const T* columns, std::int64_t channels, const Windows& w, std::int64_t first,
                   std::int64_t last, Add&& add) {
  const auto& [d, h, x] = w.axes;
  const T* from = columns;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t t = 0; t < w.taps(); ++t) {
      const std::int64_t kd = t / (h.kernel * x.kernel), kh = t / x.kernel % h.kernel, kw = t % x.kernel;
      for (std::int64_t row = first; row < last; ++row, from += x.out) {
        const std::int64_t z = row / h.out * d.stride - d.before + kd * d.dilation,
                           y = row % h.out * h.stride - h.before + kh * h.dilation;
        if (z < 0 || z >= d.in || y < 0 || y >= h.in) continue;
        const std::int64_t line = ((c * d.in + z) * h.in + y) * x.in;
        for (std::int64_t i = 0; i < x.out; ++i)
          if (const std::int64_t at = i * x.stride - x.before + kw * x.dilation; at >= 0 && at < x.in)
            add(static_cast<std::size_t>(line + at), from[i]);
      }
    }
}

/// to[line] += weight * from[line], where kernel position (kd, kh, kw) meets the image: one tap of a
/// convolution of one channel.
template <class T>
void add_tap(const T* image, const Windows& w, std::int64_t tap, T weight, T* results);

}  // namespace md
