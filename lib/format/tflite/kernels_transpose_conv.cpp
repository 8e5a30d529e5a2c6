// TRANSPOSE_CONV and CONV_3D.
#include <array>

#include "lib/eval/primitives/contraction.h"
#include "lib/eval/primitives/hybrid.h"
#include "lib/eval/primitives/quantized.h"
#include "lib/eval/primitives/strided.h"
#include "lib/eval/primitives/window.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

struct Transposed {
  std::int64_t batch = 0, in_channels = 0, filters = 0;
  Window h, w;  ///< windows over the output: in = output size, out = input size
};

/// Adds every input pixel's patch to the output; `column(pixel, tap, filter)` is the product of the pixel
/// with a tap.
template <class Sum, class F>
void scatter(const Transposed& t, std::span<Sum> image, F&& column) {
  for (std::int64_t y = 0; y < t.h.out; ++y)
    for (std::int64_t x = 0; x < t.w.out; ++x)
      for (std::int64_t ky = 0; ky < t.h.kernel; ++ky) {
        const std::int64_t oy = y * t.h.stride - t.h.before + ky;
        if (oy < 0 || oy >= t.h.in) continue;
        for (std::int64_t kx = 0; kx < t.w.kernel; ++kx) {
          const std::int64_t ox = x * t.w.stride - t.w.before + kx;
          if (ox < 0 || ox >= t.w.in) continue;
          Sum* to = image.data() + (oy * t.w.in + ox) * t.filters;
          for (std::int64_t f = 0; f < t.filters; ++f)
            column(to[f], y * t.w.out + x, ky * t.w.kernel + kx, f);
        }
      }
}

template <class T>
Status transposed_float(KernelCall& call, const Transposed& t, const Tensor& x, const Tensor& w, Tensor& out,
                        Activation activation) {
  std::span<const T> bias;
  if (call.has(3)) {
    if (call.in(3).store() != out.store() || static_cast<std::int64_t>(call.in(3).size()) != t.filters)
      return call.bad("the bias does not fit");
    bias = call.in(3).data<T>();
  }
  const std::int64_t pixels = t.h.out * t.w.out, taps = t.h.kernel * t.w.kernel, area = t.h.in * t.w.in;
  std::vector<T> columns(static_cast<std::size_t>(pixels * t.filters * taps));
  auto to = out.mutable_data<T>();
  std::fill(to.begin(), to.end(), T(0));
  const bool in_f16 = call.mode().sums_in_f16();
  for (std::int64_t n = 0; n < t.batch; ++n) {
    // columns[pixel][filter][tap]: the filter is stored as [filter, ky, kx, channel].
    const auto m = static_cast<std::size_t>(pixels), k = static_cast<std::size_t>(t.in_channels),
               width = static_cast<std::size_t>(t.filters * taps);
    contract<T>(call, x.data<T>().data() + n * pixels * t.in_channels, w.data<T>().data(), {}, columns.data(),
                width, m, width, k);
    const auto image = to.subspan(static_cast<std::size_t>(n * area * t.filters),
                                  static_cast<std::size_t>(area * t.filters));
    scatter<T>(t, image, [&](T& sum, std::int64_t pixel, std::int64_t tap, std::int64_t f) {
      sum += columns[static_cast<std::size_t>((pixel * t.filters + f) * taps + tap)];
      if constexpr (sizeof(T) == sizeof(float))
        if (in_f16) sum = round_to_f16(sum, call.mode().saturate);
      if (call.options.watch_sums) call.watch(static_cast<double>(sum));
    });
  }
  if (!bias.empty())
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += bias[i % bias.size()];
  activate<T>(activation, to);
  return {};
}

template <class X>
Status transposed_quantized(KernelCall& call, const Transposed& t, const Tensor& x, const Tensor& w,
                            Tensor& out, Activation activation) {
  const auto r = requantization(call, x, w, out, t.filters, activation, usual_scaling(x));
  if (!r) return tl::make_unexpected(r.error());
  if (call.has(3) && (call.in(3).is_float() || static_cast<std::int64_t>(call.in(3).size()) != t.filters))
    return call.bad("the bias does not fit");
  const std::int64_t taps = t.h.kernel * t.w.kernel, area = t.h.in * t.w.in;
  const X* from = x.data<X>().data();
  return with_store(w.store(), [&](auto zero) -> Status {
    using W = decltype(zero);
    if constexpr (sizeof(W) != 1) {
      return call.unsupported(fmt::format("with {} weights", name(w.dtype)));
    } else {
      const W* filters = w.data<W>().data();
      auto to = out.mutable_data<X>();
      std::vector<std::int64_t> sums(static_cast<std::size_t>(area * t.filters));
      for (std::int64_t n = 0; n < t.batch; ++n) {
        for (std::size_t i = 0; i < sums.size(); ++i)
          sums[i] = call.has(3) ? call.in(3).integer(i % static_cast<std::size_t>(t.filters)) : 0;
        scatter<std::int64_t>(
            t, std::span(sums), [&](std::int64_t& sum, std::int64_t pixel, std::int64_t tap, std::int64_t f) {
              const X* a = from + (n * t.h.out * t.w.out + pixel) * t.in_channels;
              const W* b = filters + (f * taps + tap) * t.in_channels;
              const std::int32_t wz =
                  r->weight_zero[r->weight_zero.size() == 1 ? 0 : static_cast<std::size_t>(f)];
              for (std::int64_t c = 0; c < t.in_channels; ++c)
                sum += static_cast<std::int64_t>(a[c] - r->in_zero) * (b[c] - wz);
            });
        for (std::size_t i = 0; i < sums.size(); ++i)
          to[static_cast<std::size_t>(n) * sums.size() + i] =
              static_cast<X>(requantize(*r, sums[i], i % static_cast<std::size_t>(t.filters)));
      }
      return {};
    }
  });
}

/// Float activations, integer filters: every image is quantized as a whole, as the CPU runtime does it.
Status transposed_hybrid(KernelCall& call, const Transposed& t, const Tensor& x, const Tensor& w, Tensor& out,
                         Activation activation) {
  if (!w.quantization || w.store() != Store::i8)
    return call.unsupported(fmt::format("with {} weights", name(w.dtype)));
  if (x.store() == Store::f64)
    return transposed_float<double>(call, t, x, real_weights(w, true), out, activation);
  if (call.mode().is_f16())
    return transposed_float<float>(call, t, x, real_weights(w, false), out, activation);
  if (call.has(3) && static_cast<std::int64_t>(call.in(3).size()) != t.filters)
    return call.bad("the bias does not fit");
  const auto& scales = w.quantization->scale;
  const std::int64_t taps = t.h.kernel * t.w.kernel, pixels = t.h.out * t.w.out;
  const auto image_size = static_cast<std::size_t>(pixels * t.in_channels),
             area = static_cast<std::size_t>(t.h.in * t.w.in * t.filters);
  const std::int8_t* filters = w.data<std::int8_t>().data();
  auto to = out.mutable_data<float>();
  std::vector<std::int32_t> sums(area);
  for (std::int64_t n = 0; n < t.batch; ++n) {
    const DynamicRow row =
        quantize_row(x.data<float>().data() + static_cast<std::size_t>(n) * image_size, image_size);
    std::fill(sums.begin(), sums.end(), 0);
    scatter<std::int32_t>(t, std::span(sums),
                          [&](std::int32_t& sum, std::int64_t pixel, std::int64_t tap, std::int64_t f) {
                            const std::int8_t* a = row.stored.data() + pixel * t.in_channels;
                            const std::int8_t* b = filters + (f * taps + tap) * t.in_channels;
                            for (std::int64_t c = 0; c < t.in_channels; ++c) sum += (a[c] - row.zero) * b[c];
                          });
    for (std::size_t i = 0; i < area; ++i) {
      const std::size_t f = i % static_cast<std::size_t>(t.filters);
      const float bias = call.has(3) ? call.in(3).data<float>()[f] : 0.0f;
      to[static_cast<std::size_t>(n) * area + i] =
          static_cast<float>(sums[i]) * row.scale *
              scales[scales.size() == 1 ? 0 : std::min(f, scales.size() - 1)] +
          bias;
    }
  }
  activate<float>(activation, to);
  return {};
}

Status transpose_conv(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const auto shape = index_operand(call, 0);
  const Tensor& w = call.in(1);
  const Tensor& x = call.in(2);
  const auto activation = fused_activation(call.attrs());
  if (!activation) return call.unsupported("with this fused activation");
  if (!shape || shape->size() != 4 || x.rank() != 4 || w.rank() != 4 || w.shape[3] != x.shape[3] ||
      (*shape)[3] != w.shape[0] || (*shape)[0] != x.shape[0])
    return call.bad(fmt::format("input {}, filter {} and the output shape do not fit", shape_text(x.shape),
                                shape_text(w.shape)));
  const Shape& declared = call.out_value().shape;
  if (declared != *shape &&
      std::none_of(declared.begin(), declared.end(), [](std::int64_t d) { return d < 0; }))
    return call.bad(fmt::format("the result is declared {}, the output shape says {}", shape_text(declared),
                                shape_text(*shape)));
  const std::int64_t sh = call.attrs().integer("stride_h", 1), sw = call.attrs().integer("stride_w", 1);
  const std::string_view padding = call.attrs().text("padding", "SAME");
  auto h = window((*shape)[1], w.shape[1], sh, 1, padding),
       v = window((*shape)[2], w.shape[2], sw, 1, padding);
  if (!h || !v) return call.bad("impossible strides or padding");
  // The runtime takes the padding from the output as if this were the convolution that it transposes.
  if (padding == "SAME") {
    h->before = std::max<std::int64_t>((x.shape[1] - 1) * sh + w.shape[1] - (*shape)[1], 0) / 2;
    v->before = std::max<std::int64_t>((x.shape[2] - 1) * sw + w.shape[2] - (*shape)[2], 0) / 2;
  }
  h->out = x.shape[1], v->out = x.shape[2];
  const Transposed t{x.shape[0], x.shape[3], w.shape[0], *h, *v};
  std::int64_t columns = 0;
  if (__builtin_mul_overflow(h->out * v->out,
                             static_cast<std::int64_t>(w.size()) / std::max<std::int64_t>(t.in_channels, 1),
                             &columns) ||
      columns > call.options.max_bytes / 8)
    return call.bad("the patches are too large");
  auto out = call.make_output(0, *shape);
  if (!out) return tl::make_unexpected(out.error());
  Status done;
  if (x.store() == Store::f32 && w.store() == Store::f32 && out->store() == Store::f32)
    done = transposed_float<float>(call, t, x, w, *out, *activation);
  else if (x.store() == Store::f64 && w.store() == Store::f64 && out->store() == Store::f64)
    done = transposed_float<double>(call, t, x, w, *out, *activation);
  else if (x.is_float() && x.store() == out->store())
    done = transposed_hybrid(call, t, x, w, *out, *activation);
  else if (x.store() == Store::i8 && out->store() == Store::i8)
    done = transposed_quantized<std::int8_t>(call, t, x, w, *out, *activation);
  else if (x.store() == Store::u8 && out->store() == Store::u8)
    done = transposed_quantized<std::uint8_t>(call, t, x, w, *out, *activation);
  else if (x.store() == Store::i16 && out->store() == Store::i16)
    done = transposed_quantized<std::int16_t>(call, t, x, w, *out, *activation);
  else
    return call.unsupported(fmt::format("on {} and {}", name(x.dtype), name(w.dtype)));
  if (!done) return done;
  call.outputs[0] = std::move(*out);
  return {};
}

template <class T>
void convolve_volume(KernelCall& call, const Tensor& x, const Tensor& w, const std::array<Window, 3>& axis,
                     std::span<const T> bias, Tensor& out) {
  const std::int64_t channels = x.shape[4], filters = w.shape[4];
  const T* from = x.data<T>().data();
  const T* weights = w.data<T>().data();
  T* to = out.mutable_data<T>().data();
  const bool in_f16 = call.mode().sums_in_f16();
  for (std::int64_t n = 0; n < x.shape[0]; ++n)
    for (std::int64_t p = 0; p < axis[0].out * axis[1].out * axis[2].out; ++p, to += filters) {
      const std::int64_t z0 = p / (axis[1].out * axis[2].out) * axis[0].stride - axis[0].before,
                         y0 = p / axis[2].out % axis[1].out * axis[1].stride - axis[1].before,
                         x0 = p % axis[2].out * axis[2].stride - axis[2].before;
      std::fill(to, to + filters, T(0));
      for (std::int64_t tap = 0; tap < axis[0].kernel * axis[1].kernel * axis[2].kernel; ++tap) {
        const std::int64_t z = z0 + tap / (axis[1].kernel * axis[2].kernel) * axis[0].dilation,
                           y = y0 + tap / axis[2].kernel % axis[1].kernel * axis[1].dilation,
                           u = x0 + tap % axis[2].kernel * axis[2].dilation;
        if (z < 0 || z >= axis[0].in || y < 0 || y >= axis[1].in || u < 0 || u >= axis[2].in) continue;
        const T* pixel = from + (((n * axis[0].in + z) * axis[1].in + y) * axis[2].in + u) * channels;
        for (std::int64_t c = 0; c < channels; ++c) {
          const T* row = weights + (tap * channels + c) * filters;
          for (std::int64_t f = 0; f < filters; ++f) {
            to[f] += pixel[c] * row[f];
            if constexpr (sizeof(T) == sizeof(float))
              if (in_f16) to[f] = round_to_f16(to[f], call.mode().saturate);
            if (call.options.watch_sums) call.watch(static_cast<double>(to[f]));
          }
        }
      }
      for (std::size_t f = 0; f < bias.size(); ++f) to[f] += bias[f];
    }
}

Status conv_3d(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const Tensor& w = call.in(1);
  const auto activation = fused_activation(call.attrs());
  if (!activation) return call.unsupported("with this fused activation");
  if (x.rank() != 5 || w.rank() != 5 || w.shape[3] != x.shape[4])
    return call.bad(
        fmt::format("input {} and filter {} do not fit", shape_text(x.shape), shape_text(w.shape)));
  std::array<Window, 3> axis;
  static constexpr const char* strides[] = {"stride_d", "stride_h", "stride_w"};
  static constexpr const char* dilations[] = {"dilation_d_factor", "dilation_h_factor", "dilation_w_factor"};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto one = window(x.shape[d + 1], w.shape[d], call.attrs().integer(strides[d], 1),
                            call.attrs().integer(dilations[d], 1), call.attrs().text("padding", "SAME"));
    if (!one) return call.bad("impossible strides, dilations or padding");
    axis[d] = *one;
  }
  auto out = call.make_output(0, {x.shape[0], axis[0].out, axis[1].out, axis[2].out, w.shape[4]});
  if (!out) return tl::make_unexpected(out.error());
  if (!x.is_float() || x.store() != w.store() || x.store() != out->store())
    return call.unsupported(fmt::format("on {} and {}", name(x.dtype), name(w.dtype)));
  if (call.has(2) &&
      (call.in(2).store() != x.store() || static_cast<std::int64_t>(call.in(2).size()) != w.shape[4]))
    return call.bad("the bias does not fit");
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      convolve_volume<T>(call, x, w, axis, call.has(2) ? call.in(2).data<T>() : std::span<const T>{}, *out);
      activate<T>(*activation, out->mutable_data<T>());
    }
  });
  call.outputs[0] = std::move(*out);
  return {};
}

}  // namespace

std::span<const KernelEntry> transpose_conv_kernels() {
  static const std::array rows = {KernelEntry{"TRANSPOSE_CONV", transpose_conv},
                                  KernelEntry{"CONV_3D", conv_3d}};
  return rows;
}

}  // namespace md
