// CONV_2D, grouped too; float, hybrid and quantized.
#include <array>

#include "lib/eval/primitives/contraction.h"
#include "lib/eval/primitives/convolution_types.h"
#include "lib/eval/primitives/hybrid.h"
#include "lib/eval/primitives/quantized.h"
#include "lib/eval/primitives/window.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

constexpr std::int64_t patch_limit = 1 << 20;  // elements of unfolded patches at a time: stays in the caches
constexpr std::int64_t result_limit =
    1 << 16;                               // results of one block: bias and activation find them in the cache
constexpr std::int64_t fewest_rows = 128;  // below, a matrix product spends its time on preparing the filters

/// Rows [first, last) of output pixels of one image, unfolded: one row of kernel_h * kernel_w * channels a
/// pixel.
template <class T>
void unfold(const T* image, std::int64_t channels, std::int64_t first_channel, std::int64_t group_channels,
            const Window& h, const Window& w, std::int64_t first, std::int64_t last, T padding, T* rows) {
  for (std::int64_t p = first; p < last; ++p) {
    const std::int64_t y0 = p / w.out * h.stride - h.before, x0 = p % w.out * w.stride - w.before;
    for (std::int64_t ky = 0; ky < h.kernel; ++ky) {
      const std::int64_t y = y0 + ky * h.dilation;
      for (std::int64_t kx = 0; kx < w.kernel; ++kx, rows += group_channels) {
        const std::int64_t x = x0 + kx * w.dilation;
        if (y < 0 || y >= h.in || x < 0 || x >= w.in)
          std::fill(rows, rows + group_channels, padding);
        else {
          const T* from = image + (y * w.in + x) * channels + first_channel;
          std::copy(from, from + group_channels, rows);
        }
      }
    }
  }
}

struct Convolution {
  std::int64_t batch = 0, channels = 0, filters = 0, groups = 1;
  Window h, w;
  Activation activation = Activation::none;
  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_filters() const { return filters / groups; }
  std::int64_t depth() const { return h.kernel * w.kernel * group_channels(); }
};

/// f(image's first element, group, first pixel, last pixel, unfolded rows, output offset of the first pixel)
template <class T, class F>
void each_block(const Convolution& c, std::span<const T> x, T padding, F&& f) {
  const std::int64_t pixels = c.h.out * c.w.out;
  const std::int64_t cached = std::max(fewest_rows, result_limit / std::max<std::int64_t>(c.filters, 1));
  const std::int64_t block = std::max<std::int64_t>(
      1, std::min({pixels, cached, patch_limit / std::max<std::int64_t>(c.depth(), 1)}));
  const bool direct =
      c.groups == 1 && c.h.kernel == 1 && c.w.kernel == 1 && c.h.stride == 1 && c.w.stride == 1;
  std::vector<T> rows(direct ? 0 : static_cast<std::size_t>(block * c.depth()));
  for (std::int64_t n = 0; n < c.batch; ++n) {
    const T* image = x.data() + n * c.h.in * c.w.in * c.channels;
    for (std::int64_t g = 0; g < c.groups; ++g)
      for (std::int64_t p = 0; p < pixels; p += block) {
        const std::int64_t last = std::min(pixels, p + block);
        const T* unfolded = image + p * c.channels;
        if (!direct) {
          unfold(image, c.channels, g * c.group_channels(), c.group_channels(), c.h, c.w, p, last, padding,
                 rows.data());
          unfolded = rows.data();
        }
        f(g, unfolded, last - p, (n * pixels + p) * c.filters + g * c.group_filters());
      }
  }
}

template <class T>
Status convolve_float(KernelCall& call, const Convolution& c, const Tensor& x, const Tensor& w, Tensor& out) {
  std::span<const T> bias;
  if (call.has(2)) {
    if (call.in(2).store() != out.store() || static_cast<std::int64_t>(call.in(2).size()) != c.filters)
      return call.bad("the bias does not fit");
    bias = call.in(2).data<T>();
  }
  const T* filters = w.data<T>().data();
  T* to = out.mutable_data<T>().data();
  const auto n = static_cast<std::size_t>(c.group_filters()), k = static_cast<std::size_t>(c.depth());
  each_block<T>(
      c, x.data<T>(), T(0), [&](std::int64_t g, const T* rows, std::int64_t count, std::int64_t at) {
        const auto offset = static_cast<std::size_t>(g) * n;
        contract<T>(call, rows, filters + offset * k, bias.empty() ? bias : bias.subspan(offset, n), to + at,
                    static_cast<std::size_t>(c.filters), static_cast<std::size_t>(count), n, k);
        if (c.groups == 1)
          activate<T>(c.activation, std::span(to + at, static_cast<std::size_t>(count * c.filters)));
      });
  if (c.groups != 1) activate<T>(c.activation, out.mutable_data<T>());
  return {};
}

template <class X, class W>
Status convolve_quantized(KernelCall& call, const Convolution& c, const Tensor& x, const Tensor& w,
                          Tensor& out) {
  const auto r = requantization(call, x, w, out, c.filters, c.activation, usual_scaling(x));
  if (!r) return tl::make_unexpected(r.error());
  if (call.has(2) && (call.in(2).is_float() || static_cast<std::int64_t>(call.in(2).size()) != c.filters))
    return call.bad("the bias does not fit");
  const W* filters = w.data<W>().data();
  X* to = out.mutable_data<X>().data();
  const std::int64_t n = c.group_filters(), k = c.depth();
  each_block<X>(c, x.data<X>(), static_cast<X>(r->in_zero),
                [&](std::int64_t g, const X* rows, std::int64_t count, std::int64_t at) {
                  for (std::int64_t j = 0; j < n; ++j) {
                    const auto channel = static_cast<std::size_t>(g * n + j);
                    const std::int32_t wz = r->weight_zero[r->weight_zero.size() == 1 ? 0 : channel];
                    const std::int64_t bias = call.has(2) ? call.in(2).integer(channel) : 0;
                    const W* filter = filters + static_cast<std::int64_t>(channel) * k;
                    for (std::int64_t i = 0; i < count; ++i) {
                      std::int64_t sum = bias;
                      for (std::int64_t t = 0; t < k; ++t)
                        sum += static_cast<std::int64_t>(rows[i * k + t] - r->in_zero) * (filter[t] - wz);
                      to[at + i * c.filters + j] = static_cast<X>(requantize(*r, sum, channel));
                    }
                  }
                });
  return {};
}

/// Float activations, integer filters: every image is quantized as a whole (the runtime's hybrid kernel).
Status convolve_hybrid(KernelCall& call, const Convolution& c, const Tensor& x, const Tensor& w,
                       Tensor& out) {
  if (!w.quantization || w.store() != Store::i8)
    return call.unsupported(fmt::format("with {} weights", name(w.dtype)));
  if (x.store() == Store::f64) return convolve_float<double>(call, c, x, real_weights(w, true), out);
  if (call.mode().is_f16()) return convolve_float<float>(call, c, x, real_weights(w, false), out);
  const auto from = x.data<float>();
  auto to = out.mutable_data<float>();
  const std::size_t image = c.batch ? from.size() / static_cast<std::size_t>(c.batch) : 0,
                    result = c.batch ? to.size() / static_cast<std::size_t>(c.batch) : 0;
  const auto& scales = w.quantization->scale;
  Convolution one = c;
  one.batch = 1;
  for (std::int64_t n = 0; n < c.batch; ++n) {
    const DynamicRow row = quantize_row(from.data() + static_cast<std::size_t>(n) * image, image);
    float* base = to.data() + static_cast<std::size_t>(n) * result;
    const std::int64_t filters = c.group_filters(), k = c.depth();
    each_block<std::int8_t>(
        one, row.stored, static_cast<std::int8_t>(row.zero),
        [&](std::int64_t g, const std::int8_t* rows, std::int64_t count, std::int64_t at) {
          for (std::int64_t j = 0; j < filters; ++j) {
            const auto channel = static_cast<std::size_t>(g * filters + j);
            const std::int8_t* filter = w.data<std::int8_t>().data() + static_cast<std::int64_t>(channel) * k;
            const float scale =
                row.scale * scales[scales.size() == 1 ? 0 : std::min(channel, scales.size() - 1)];
            const float bias = call.has(2) ? call.in(2).data<float>()[channel] : 0.0f;
            for (std::int64_t i = 0; i < count; ++i) {
              std::int32_t sum = 0;
              for (std::int64_t t = 0; t < k; ++t) sum += (rows[i * k + t] - row.zero) * filter[t];
              base[at + i * c.filters + j] = static_cast<float>(sum) * scale + bias;
            }
          }
        });
  }
  activate<float>(c.activation, to);
  return {};
}

Status conv_2d(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const Tensor& w = call.in(1);
  const auto activation = fused_activation(call.attrs());
  if (!activation) return call.unsupported("with this fused activation");
  if (x.rank() != 4 || w.rank() != 4 || w.shape[3] < 1 || x.shape[3] % w.shape[3])
    return call.bad(
        fmt::format("input {} and filter {} do not fit", shape_text(x.shape), shape_text(w.shape)));
  const auto both = windows(call.attrs(), x.shape, w.shape[1], w.shape[2], true);
  if (!both) return call.bad("impossible strides, dilations or padding");
  Convolution c{x.shape[0],  x.shape[3],   w.shape[0], x.shape[3] / w.shape[3],
                both->first, both->second, *activation};
  if (c.groups < 1 || c.filters % c.groups) return call.bad("the groups do not divide the filters");
  auto out = call.make_output(0, {c.batch, c.h.out, c.w.out, c.filters});
  if (!out) return tl::make_unexpected(out.error());
  return by_convolution_types(
      call, x, w, *out, [&](auto real) { return convolve_float<decltype(real)>(call, c, x, w, *out); },
      [&] { return convolve_hybrid(call, c, x, w, *out); },
      [&](auto data, auto filter) {
        return convolve_quantized<decltype(data), decltype(filter)>(call, c, x, w, *out);
      });
}

}  // namespace

std::span<const KernelEntry> convolution_kernels() {
  static const std::array rows = {
      KernelEntry{"CONV_2D", conv_2d},
  };
  return rows;
}

}  // namespace md
