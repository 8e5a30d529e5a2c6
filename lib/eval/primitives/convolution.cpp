#include "lib/eval/primitives/convolution.h"

#include <algorithm>
#include <vector>

#include "lib/eval/primitives/contraction.h"

namespace md {
namespace {

constexpr std::int64_t patch_limit = 1 << 20;  // numbers of unfolded columns at a time: stays in the caches

/// One channel and one filter a group: each tap is added to whole lines.
template <class T>
void by_taps(const Convolution& c, const T* image, const T* weights, T* out) {
  const Windows& w = c.windows;
  const std::int64_t each = c.group_filters();
  std::fill(out, out + c.filters * w.pixels_out(), T(0));
  for (std::int64_t f = 0; f < c.filters; ++f)
    for (std::int64_t t = 0; t < w.taps(); ++t)
      add_tap<T>(image + f / each * w.pixels_in(), w, t, weights[f * w.taps() + t], out + f * w.pixels_out());
}

/// Lines of results at a time whose columns fit the caches.
std::int64_t lines_at_once(const Windows& w, std::int64_t depth) {
  const std::int64_t line = std::max<std::int64_t>(depth * w.axes[2].out, 1);
  return std::clamp<std::int64_t>(patch_limit / line, 1, std::max<std::int64_t>(w.rows_out(), 1));
}

template <class T>
void convolve_group(KernelCall& call, const Convolution& c, const T* image, const T* weights, T* out) {
  const Windows& w = c.windows;
  const std::int64_t depth = c.group_channels() * w.taps(), pixels = w.pixels_out(), line = w.axes[2].out;
  const auto m = static_cast<std::size_t>(c.group_filters()), k = static_cast<std::size_t>(depth);
  const bool direct = w.taps() == 1 && w.pixels_in() == pixels && w.axes[0].stride == 1 &&
                      w.axes[1].stride == 1 && w.axes[2].stride == 1 && w.axes[0].before == 0 &&
                      w.axes[1].before == 0 && w.axes[2].before == 0;
  if (direct)
    return contract_plain<T>(call, weights, k, image, static_cast<std::size_t>(pixels), out,
                             static_cast<std::size_t>(pixels), m, static_cast<std::size_t>(pixels), k);
  const std::int64_t lines = lines_at_once(w, depth);
  std::vector<T> columns(static_cast<std::size_t>(depth * lines * line));
  for (std::int64_t first = 0; first < w.rows_out(); first += lines) {
    const std::int64_t last = std::min(w.rows_out(), first + lines);
    unfold_channels<T>(image, c.group_channels(), w, first, last, columns.data());
    const auto n = static_cast<std::size_t>((last - first) * line);
    contract_plain<T>(call, weights, k, columns.data(), n, out + first * line,
                      static_cast<std::size_t>(pixels), m, n, k);
  }
}

/// Products over the channels, folded into the result: where windows overlap they are added.
template <class T>
void spread_group(KernelCall& call, const Convolution& c, const T* image, const T* weights, T* out) {
  const Windows& w = c.windows;
  const std::int64_t rows = c.group_filters() * w.taps(), pixels = w.pixels_out(), line = w.axes[2].out;
  const auto m = static_cast<std::size_t>(rows), k = static_cast<std::size_t>(c.group_channels());
  std::vector<T> turned(m * k);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < k; ++j) turned[i * k + j] = weights[j * m + i];
  const bool rounds = call.mode().sums_in_f16(), saturate = call.mode().saturate;
  const std::int64_t lines = lines_at_once(w, rows);
  std::vector<T> columns(m * static_cast<std::size_t>(lines * line));
  std::fill(out, out + c.group_filters() * w.pixels_in(), T(0));
  for (std::int64_t first = 0; first < w.rows_out(); first += lines) {
    const std::int64_t last = std::min(w.rows_out(), first + lines);
    const auto n = static_cast<std::size_t>((last - first) * line);
    contract_plain<T>(call, turned.data(), k, image + first * line, static_cast<std::size_t>(pixels),
                      columns.data(), n, m, n, k);
    fold_channels<T>(columns.data(), c.group_filters(), w, first, last, [&](std::size_t at, T v) {
      out[at] += v;
      if constexpr (std::is_same_v<T, float>)
        if (rounds) out[at] = round_to_f16(out[at], saturate);
      if (call.options.watch_sums) call.watch(static_cast<double>(out[at]));
    });
  }
}

}  // namespace

template <class T>
void convolve(KernelCall& call, const Convolution& c, const T* x, const T* weights, const T* bias, T* out) {
  const Windows& w = c.windows;
  const std::int64_t in = c.transposed ? w.pixels_out() : w.pixels_in(),
                     result = c.transposed ? w.pixels_in() : w.pixels_out();
  const std::int64_t weights_each =
      (c.transposed ? c.group_channels() * c.group_filters() : c.group_filters() * c.group_channels()) *
      w.taps();
  const bool taps = !c.transposed && c.group_channels() == 1 && c.groups > 1 && !call.mode().sums_in_f16() &&
                    !call.options.watch_sums;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const T* image = x + b * c.channels * in;
    T* to = out + b * c.filters * result;
    if (taps) by_taps(c, image, weights, to);
    for (std::int64_t g = 0; g < c.groups && !taps; ++g) {
      const T* channels = image + g * c.group_channels() * in;
      T* group = to + g * c.group_filters() * result;
      if (c.transposed)
        spread_group<T>(call, c, channels, weights + g * weights_each, group);
      else
        convolve_group<T>(call, c, channels, weights + g * weights_each, group);
    }
    if (!bias) continue;
    for (std::int64_t f = 0; f < c.filters; ++f)
      for (std::int64_t i = 0; i < result; ++i) to[f * result + i] += bias[f];
  }
}
template void convolve<float>(KernelCall&, const Convolution&, const float*, const float*, const float*,
                              float*);
template void convolve<double>(KernelCall&, const Convolution&, const double*, const double*, const double*,
                               double*);

}  // namespace md
