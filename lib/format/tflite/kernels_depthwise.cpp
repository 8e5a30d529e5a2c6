// DEPTHWISE_CONV_2D: every channel has filters of its own.
#include <array>

#include "lib/eval/primitives/contraction.h"
#include "lib/eval/primitives/convolution_types.h"
#include "lib/eval/primitives/hybrid.h"
#include "lib/eval/primitives/quantized.h"
#include "lib/eval/primitives/sums.h"
#include "lib/eval/primitives/window.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

struct Depthwise {
  std::int64_t batch = 0, channels = 0, multiplier = 1;
  Window h, w;
  Activation activation = Activation::none;
  std::int64_t filters() const { return channels * multiplier; }
};

/// f(output pixel's offset, pointer to an image, input y and x of the window's corner)
template <class F>
void each_pixel(const Depthwise& d, F&& f) {
  for (std::int64_t n = 0; n < d.batch; ++n)
    for (std::int64_t y = 0; y < d.h.out; ++y)
      for (std::int64_t x = 0; x < d.w.out; ++x)
        f(((n * d.h.out + y) * d.w.out + x) * d.filters(), n * d.h.in * d.w.in * d.channels,
          y * d.h.stride - d.h.before, x * d.w.stride - d.w.before);
}

/// f(input pixel's offset, filter tap's offset) for the taps of a window that lie inside the image.
template <class F>
void each_tap(const Depthwise& d, std::int64_t y0, std::int64_t x0, F&& f) {
  for (std::int64_t ky = 0; ky < d.h.kernel; ++ky) {
    const std::int64_t y = y0 + ky * d.h.dilation;
    if (y < 0 || y >= d.h.in) continue;
    for (std::int64_t kx = 0; kx < d.w.kernel; ++kx) {
      const std::int64_t x = x0 + kx * d.w.dilation;
      if (x >= 0 && x < d.w.in) f((y * d.w.in + x) * d.channels, (ky * d.w.kernel + kx) * d.filters());
    }
  }
}

template <class T>
void add_products(T* __restrict__ sums, const T* __restrict__ x, const T* __restrict__ w,
                  std::int64_t channels, std::int64_t multiplier) {
  if (multiplier == 1) {
    for (std::int64_t c = 0; c < channels; ++c) sums[c] += x[c] * w[c];
    return;
  }
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t m = 0; m < multiplier; ++m) sums[c * multiplier + m] += x[c] * w[c * multiplier + m];
}

/// The taps of a window that lie inside the image.
struct Taps {
  std::int64_t y_first, y_last, x_first, x_last;
};

/// Sums of `N` channels at a time, so that they stay in registers.
template <std::int64_t N, class T>
void sum_channels(const Depthwise& d, const T* image, std::int64_t corner, const T* filters, const Taps& taps,
                  T* __restrict__ out) {
  T sums[N] = {};
  for (std::int64_t ky = taps.y_first; ky < taps.y_last; ++ky)
    for (std::int64_t kx = taps.x_first; kx < taps.x_last; ++kx) {
      const T* __restrict__ x =
          image + (corner + (ky * d.h.dilation * d.w.in + kx * d.w.dilation) * d.channels);
      const T* __restrict__ w = filters + (ky * d.w.kernel + kx) * d.channels;
      for (std::int64_t i = 0; i < N; ++i) sums[i] += x[i] * w[i];
    }
  for (std::int64_t i = 0; i < N; ++i) out[i] = sums[i];
}

/// One output pixel with one filter a channel.
template <class T>
void plain_pixel(const Depthwise& d, const T* image, const T* filters, std::span<const T> bias,
                 std::int64_t y0, std::int64_t x0, T* out) {
  const auto first = [](std::int64_t at, std::int64_t dilation) {
    return at < 0 ? (-at + dilation - 1) / dilation : 0;
  };
  const auto last = [](std::int64_t at, std::int64_t dilation, std::int64_t in, std::int64_t kernel) {
    return std::min(kernel, (in - at + dilation - 1) / dilation);
  };
  const Taps taps{first(y0, d.h.dilation), last(y0, d.h.dilation, d.h.in, d.h.kernel),
                  first(x0, d.w.dilation), last(x0, d.w.dilation, d.w.in, d.w.kernel)};
  const std::int64_t corner =
      (y0 * d.w.in + x0) * d.channels;  // may lie outside the image; taps bring it back in
  std::int64_t c = 0;
  for (; c + 16 <= d.channels; c += 16) sum_channels<16>(d, image, corner + c, filters + c, taps, out + c);
  for (; c < d.channels; ++c) sum_channels<1>(d, image, corner + c, filters + c, taps, out + c);
  for (std::size_t i = 0; i < bias.size(); ++i) out[i] += bias[i];
}

template <class T>
Status depthwise_float(KernelCall& call, const Depthwise& d, const Tensor& x, const Tensor& w, Tensor& out) {
  std::span<const T> bias;
  if (call.has(2)) {
    if (call.in(2).store() != out.store() || static_cast<std::int64_t>(call.in(2).size()) != d.filters())
      return call.bad("the bias does not fit");
    bias = call.in(2).data<T>();
  }
  const T* from = x.data<T>().data();
  const T* filters = w.data<T>().data();
  T* to = out.mutable_data<T>().data();
  const bool in_f16 = call.mode().sums_in_f16();
  if (d.multiplier == 1 && !in_f16 && !call.options.watch_sums) {
    each_pixel(d, [&](std::int64_t at, std::int64_t image, std::int64_t y0, std::int64_t x0) {
      plain_pixel<T>(d, from + image, filters, bias, y0, x0, to + at);
    });
    activate<T>(d.activation, out.mutable_data<T>());
    return {};
  }
  each_pixel(d, [&](std::int64_t at, std::int64_t image, std::int64_t y0, std::int64_t x0) {
    T* sums = to + at;
    std::fill(sums, sums + d.filters(), T(0));
    each_tap(d, y0, x0, [&](std::int64_t pixel, std::int64_t tap) {
      add_products(sums, from + image + pixel, filters + tap, d.channels, d.multiplier);
      if (!in_f16 && !call.options.watch_sums) return;
      for (std::int64_t c = 0; c < d.filters(); ++c) {
        if constexpr (sizeof(T) == sizeof(float))
          if (in_f16) sums[c] = round_to_f16(sums[c], call.mode().saturate);
        call.watch(static_cast<double>(sums[c]));
      }
    });
    for (std::size_t c = 0; c < bias.size(); ++c) sums[c] += bias[c];
  });
  activate<T>(d.activation, out.mutable_data<T>());
  return {};
}

template <class X, class W>
Status depthwise_quantized(KernelCall& call, const Depthwise& d, const Tensor& x, const Tensor& w,
                           Tensor& out) {
  const auto r = requantization(call, x, w, out, d.filters(), d.activation, usual_scaling(x));
  if (!r) return tl::make_unexpected(r.error());
  if (call.has(2) && (call.in(2).is_float() || static_cast<std::int64_t>(call.in(2).size()) != d.filters()))
    return call.bad("the bias does not fit");
  const X* from = x.data<X>().data();
  const W* filters = w.data<W>().data();
  X* to = out.mutable_data<X>().data();
  std::vector<std::int64_t> sums(static_cast<std::size_t>(d.filters()));
  each_pixel(d, [&](std::int64_t at, std::int64_t image, std::int64_t y0, std::int64_t x0) {
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] = call.has(2) ? call.in(2).integer(c) : 0;
    each_tap(d, y0, x0, [&](std::int64_t pixel, std::int64_t tap) {
      for (std::size_t c = 0; c < sums.size(); ++c) {
        const std::int32_t wz = r->weight_zero[r->weight_zero.size() == 1 ? 0 : c];
        sums[c] += static_cast<std::int64_t>(
                       from[image + pixel + static_cast<std::int64_t>(c) / d.multiplier] - r->in_zero) *
                   (filters[tap + static_cast<std::int64_t>(c)] - wz);
      }
    });
    for (std::size_t c = 0; c < sums.size(); ++c)
      to[at + static_cast<std::int64_t>(c)] = static_cast<X>(requantize(*r, sums[c], c));
  });
  return {};
}

/// Float activations, integer filters: every image is quantized as a whole, as in the runtime's hybrid
/// kernel.
Status depthwise_hybrid(KernelCall& call, const Depthwise& d, const Tensor& x, const Tensor& w, Tensor& out) {
  if (!w.quantization || w.store() != Store::i8)
    return call.unsupported(fmt::format("with {} weights", name(w.dtype)));
  if (x.store() == Store::f64) return depthwise_float<double>(call, d, x, real_weights(w, true), out);
  if (call.mode().is_f16()) return depthwise_float<float>(call, d, x, real_weights(w, false), out);
  const std::size_t image_size = d.batch ? x.size() / static_cast<std::size_t>(d.batch) : 0;
  const std::int8_t* filters = w.data<std::int8_t>().data();
  const auto& scales = w.quantization->scale;
  std::vector<DynamicRow> images;
  for (std::int64_t n = 0; n < d.batch; ++n)
    images.push_back(
        quantize_row(x.data<float>().data() + static_cast<std::size_t>(n) * image_size, image_size));
  float* to = out.mutable_data<float>().data();
  std::vector<std::int32_t> sums(static_cast<std::size_t>(d.filters()));
  each_pixel(d, [&](std::int64_t at, std::int64_t image, std::int64_t y0, std::int64_t x0) {
    const DynamicRow& row = images[image_size ? static_cast<std::size_t>(image) / image_size : 0];
    std::fill(sums.begin(), sums.end(), 0);
    each_tap(d, y0, x0, [&](std::int64_t pixel, std::int64_t tap) {
      for (std::size_t c = 0; c < sums.size(); ++c)
        sums[c] += (row.stored[static_cast<std::size_t>(pixel) + c / static_cast<std::size_t>(d.multiplier)] -
                    row.zero) *
                   filters[tap + static_cast<std::int64_t>(c)];
    });
    for (std::size_t c = 0; c < sums.size(); ++c) {
      const float bias = call.has(2) ? call.in(2).data<float>()[c] : 0.0f;
      to[at + static_cast<std::int64_t>(c)] =
          static_cast<float>(sums[c]) * row.scale *
              scales[scales.size() == 1 ? 0 : std::min(c, scales.size() - 1)] +
          bias;
    }
  });
  activate<float>(d.activation, out.mutable_data<float>());
  return {};
}

Status depthwise_conv_2d(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const Tensor& w = call.in(1);
  const auto activation = fused_activation(call.attrs());
  if (!activation) return call.unsupported("with this fused activation");
  if (x.rank() != 4 || w.rank() != 4 || w.shape[0] != 1 || x.shape[3] < 1 || w.shape[3] % x.shape[3])
    return call.bad(
        fmt::format("input {} and filter {} do not fit", shape_text(x.shape), shape_text(w.shape)));
  const auto both = windows(call.attrs(), x.shape, w.shape[1], w.shape[2], true);
  if (!both) return call.bad("impossible strides, dilations or padding");
  const Depthwise d{x.shape[0], x.shape[3], w.shape[3] / x.shape[3], both->first, both->second, *activation};
  auto out = call.make_output(0, {d.batch, d.h.out, d.w.out, d.filters()});
  if (!out) return tl::make_unexpected(out.error());
  return by_convolution_types(
      call, x, w, *out, [&](auto real) { return depthwise_float<decltype(real)>(call, d, x, w, *out); },
      [&] { return depthwise_hybrid(call, d, x, w, *out); },
      [&](auto data, auto filter) {
        return depthwise_quantized<decltype(data), decltype(filter)>(call, d, x, w, *out);
      });
}

}  // namespace

std::span<const KernelEntry> depthwise_kernels() {
  static const std::array rows = {KernelEntry{"DEPTHWISE_CONV_2D", depthwise_conv_2d}};
  return rows;
}

}  // namespace md
