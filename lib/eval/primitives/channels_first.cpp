#include "lib/eval/primitives/channels_first.h"

#include <algorithm>

namespace md {
namespace {

/// Results [from, to) of a line whose positions lie inside the image.
struct Inside {
  std::int64_t from = 0, to = 0;
};
Inside inside(const Window& w, std::int64_t k) {
  const std::int64_t offset = k * w.dilation - w.before;  // position of result 0
  std::int64_t from = offset >= 0 ? 0 : (-offset + w.stride - 1) / w.stride;
  std::int64_t to = offset >= w.in ? 0 : (w.in - 1 - offset) / w.stride + 1;
  from = std::min(from, w.out), to = std::clamp(to, from, w.out);
  return {from, to};
}

}  // namespace

template <class T>
void unfold_channels(const T* image, std::int64_t channels, const Windows& w, std::int64_t first,
                     std::int64_t last, T* columns) {
  const auto& [d, h, x] = w.axes;
  T* to = columns;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t t = 0; t < w.taps(); ++t) {
      const std::int64_t kd = t / (h.kernel * x.kernel), kh = t / x.kernel % h.kernel, kw = t % x.kernel;
      const Inside in = inside(x, kw);
      for (std::int64_t row = first; row < last; ++row, to += x.out) {
        const std::int64_t z = row / h.out * d.stride - d.before + kd * d.dilation,
                           y = row % h.out * h.stride - h.before + kh * h.dilation;
        if (z < 0 || z >= d.in || y < 0 || y >= h.in) {
          std::fill(to, to + x.out, T(0));
          continue;
        }
        const T* line = image + ((c * d.in + z) * h.in + y) * x.in + kw * x.dilation - x.before;
        std::fill(to, to + in.from, T(0));
        if (x.stride == 1)
          std::copy(line + in.from, line + in.to, to + in.from);
        else
          for (std::int64_t i = in.from; i < in.to; ++i) to[i] = line[i * x.stride];
        std::fill(to + in.to, to + x.out, T(0));
      }
    }
}
template void unfold_channels<float>(const float*, std::int64_t, const Windows&, std::int64_t, std::int64_t,
                                     float*);
template void unfold_channels<double>(const double*, std::int64_t, const Windows&, std::int64_t, std::int64_t,
                                      double*);

template <class T>
void add_tap(const T* image, const Windows& w, std::int64_t tap, T weight, T* results) {
  const auto& [d, h, x] = w.axes;
  const std::int64_t kd = tap / (h.kernel * x.kernel), kh = tap / x.kernel % h.kernel, kw = tap % x.kernel;
  const Inside in = inside(x, kw);
  for (std::int64_t row = 0; row < w.rows_out(); ++row) {
    const std::int64_t z = row / h.out * d.stride - d.before + kd * d.dilation,
                       y = row % h.out * h.stride - h.before + kh * h.dilation;
    if (z < 0 || z >= d.in || y < 0 || y >= h.in) continue;
    const T* line = image + (z * h.in + y) * x.in + kw * x.dilation - x.before;
    T* to = results + row * x.out;
    if (x.stride == 1)
      for (std::int64_t i = in.from; i < in.to; ++i) to[i] += weight * line[i];
    else
      for (std::int64_t i = in.from; i < in.to; ++i) to[i] += weight * line[i * x.stride];
  }
}
template void add_tap<float>(const float*, const Windows&, std::int64_t, float, float*);
template void add_tap<double>(const double*, const Windows&, std::int64_t, double, double*);

}  // namespace md
