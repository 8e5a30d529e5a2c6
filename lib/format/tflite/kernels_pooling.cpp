// AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D. Padding never counts: averages divide by the pixels inside the
// image.
#include <array>
#include <limits>

#include "lib/eval/primitives/quantized.h"
#include "lib/eval/primitives/window.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

struct Pool {
  std::int64_t batch = 0, channels = 0;
  Window h, w;
  Activation activation = Activation::none;
};

Result<Pool> pool(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return tl::make_unexpected(ok.error());
  const Tensor& x = call.in(0);
  const auto activation = fused_activation(call.attrs());
  if (!activation) return call.unsupported("with this fused activation");
  if (x.rank() != 4) return call.bad("needs rank 4");
  const auto both = windows(call.attrs(), x.shape, call.attrs().integer("filter_height", 1),
                            call.attrs().integer("filter_width", 1), false);
  if (!both) return call.bad("impossible window, strides or padding");
  return Pool{x.shape[0], x.shape[3], both->first, both->second, *activation};
}

/// f(output offset of channel 0, input offset of the image, rows [y0, y1), columns [x0, x1)) for every
/// window.
template <class F>
void each_window(const Pool& p, F&& f) {
  for (std::int64_t n = 0; n < p.batch; ++n)
    for (std::int64_t oy = 0; oy < p.h.out; ++oy)
      for (std::int64_t ox = 0; ox < p.w.out; ++ox) {
        const std::int64_t y = oy * p.h.stride - p.h.before, x = ox * p.w.stride - p.w.before;
        f(((n * p.h.out + oy) * p.w.out + ox) * p.channels, n * p.h.in * p.w.in * p.channels,
          std::max<std::int64_t>(y, 0), std::min(y + p.h.kernel, p.h.in), std::max<std::int64_t>(x, 0),
          std::min(x + p.w.kernel, p.w.in));
      }
}

enum class Kind { average, maximum, l2 };

template <class T>
void pool_floats(KernelCall& call, const Pool& p, const Tensor& x, Tensor& out, Kind kind) {
  const T* from = x.data<T>().data();
  T* to = out.mutable_data<T>().data();
  const bool in_f16 = call.mode().sums_in_f16();
  each_window(p, [&](std::int64_t at, std::int64_t image, std::int64_t y0, std::int64_t y1, std::int64_t x0,
                     std::int64_t x1) {
    T* result = to + at;
    std::fill(result, result + p.channels, kind == Kind::maximum ? std::numeric_limits<T>::lowest() : T(0));
    for (std::int64_t y = y0; y < y1; ++y)
      for (std::int64_t u = x0; u < x1; ++u) {
        const T* pixel = from + image + (y * p.w.in + u) * p.channels;
        for (std::int64_t c = 0; c < p.channels; ++c) {
          if (kind == Kind::maximum) {
            result[c] = pixel[c] > result[c] || std::isnan(pixel[c]) ? pixel[c] : result[c];
            continue;
          }
          result[c] += kind == Kind::l2 ? pixel[c] * pixel[c] : pixel[c];
          if constexpr (sizeof(T) == sizeof(float))
            if (in_f16) result[c] = round_to_f16(result[c], call.mode().saturate);
          if (call.options.watch_sums) call.watch(static_cast<double>(result[c]));
        }
      }
    const T count = static_cast<T>((y1 - y0) * (x1 - x0));
    for (std::int64_t c = 0; c < p.channels; ++c) {
      if (kind == Kind::average) result[c] /= count;
      if (kind == Kind::l2) result[c] = std::sqrt(result[c] / count);
    }
  });
  activate<T>(p.activation, out.mutable_data<T>());
}

template <class T>
void pool_integers(const Pool& p, const Tensor& x, Tensor& out, Kind kind) {
  const T* from = x.data<T>().data();
  T* to = out.mutable_data<T>().data();
  const auto [low, high] = activation_bounds<T>(p.activation, affine(out));
  const std::int64_t lowest = low, highest = high;
  each_window(p, [&](std::int64_t at, std::int64_t image, std::int64_t y0, std::int64_t y1, std::int64_t x0,
                     std::int64_t x1) {
    const std::int64_t count = std::max<std::int64_t>(1, (y1 - y0) * (x1 - x0));
    for (std::int64_t c = 0; c < p.channels; ++c) {
      std::int64_t sum = 0, top = std::numeric_limits<T>::min();
      for (std::int64_t y = y0; y < y1; ++y)
        for (std::int64_t u = x0; u < x1; ++u) {
          const T v = from[image + (y * p.w.in + u) * p.channels + c];
          sum += v;
          top = std::max<std::int64_t>(top, v);
        }
      const std::int64_t mean = sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
      to[at + c] = static_cast<T>(std::clamp(kind == Kind::maximum ? top : mean, lowest, highest));
    }
  });
}

Status pool_2d(KernelCall& call, Kind kind) {
  const auto p = pool(call);
  if (!p) return tl::make_unexpected(p.error());
  const Tensor& x = call.in(0);
  auto out = call.make_output(0, {p->batch, p->h.out, p->w.out, p->channels});
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != x.store()) return call.bad("the result's type is not the operand's");
  Status done;
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      pool_floats<T>(call, *p, x, *out, kind);
    else if constexpr (sizeof(T) <= 2) {
      if (kind == Kind::l2)
        done = call.unsupported("on integers");
      else
        pool_integers<T>(*p, x, *out, kind);
    } else
      done = call.unsupported(fmt::format("on {}", name(x.dtype)));
  });
  if (!done) return done;
  call.outputs[0] = std::move(*out);
  return {};
}
Status average_pool(KernelCall& call) { return pool_2d(call, Kind::average); }
Status max_pool(KernelCall& call) { return pool_2d(call, Kind::maximum); }
Status l2_pool(KernelCall& call) { return pool_2d(call, Kind::l2); }

}  // namespace

std::span<const KernelEntry> pooling_kernels() {
  static const std::array rows = {
      KernelEntry{"AVERAGE_POOL_2D", average_pool},
      KernelEntry{"MAX_POOL_2D", max_pool},
      KernelEntry{"L2_POOL_2D", l2_pool},
  };
  return rows;
}

}  // namespace md
