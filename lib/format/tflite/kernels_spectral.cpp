// RFFT2D, COMPLEX_ABS, REAL, IMAG.
#include <array>
#include <numbers>

#include "lib/eval/primitives/strided.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

/// Forward DFT of n complex numbers `step` apart; O(n^2), in double as the runtime's own transform is.
void fourier(std::vector<double>& re, std::vector<double>& im, std::size_t start, std::size_t step,
             std::size_t n) {
  std::vector<double> out_re(n), out_im(n);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t t = 0; t < n; ++t) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k * t % n) / static_cast<double>(n);
      const double c = std::cos(angle), s = std::sin(angle), a = re[start + t * step],
                   b = im[start + t * step];
      out_re[k] += a * c - b * s;
      out_im[k] += a * s + b * c;
    }
  for (std::size_t k = 0; k < n; ++k) re[start + k * step] = out_re[k], im[start + k * step] = out_im[k];
}

Status rfft2d(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto length = index_operand(call, 1);
  if (x.rank() < 2 || !length || length->size() != 2 || (*length)[0] < 1 || (*length)[1] < 1 ||
      (*length)[0] > 1 << 14 || (*length)[1] > 1 << 14)
    return call.bad("needs rank 2 at least and two lengths");
  const auto h = static_cast<std::size_t>((*length)[0]), w = static_cast<std::size_t>((*length)[1]),
             half = w / 2 + 1;
  const auto in_h = static_cast<std::size_t>(x.shape[x.shape.size() - 2]),
             in_w = static_cast<std::size_t>(x.shape.back());
  Shape shape = x.shape;
  shape[shape.size() - 2] = static_cast<std::int64_t>(h), shape.back() = static_cast<std::int64_t>(half);
  const std::size_t image = in_h * in_w, images = image == 0 ? 0 : x.size() / image;
  std::vector<double> numbers;
  for (std::size_t n = 0; n < images; ++n) {
    std::vector<double> re(h * w, 0.0), im(h * w, 0.0);
    for (std::size_t y = 0; y < std::min(h, in_h); ++y)
      for (std::size_t u = 0; u < std::min(w, in_w); ++u) re[y * w + u] = x.number((n * in_h + y) * in_w + u);
    for (std::size_t y = 0; y < h; ++y) fourier(re, im, y * w, 1, w);
    for (std::size_t u = 0; u < half; ++u) fourier(re, im, u, w, h);
    for (std::size_t y = 0; y < h; ++y)
      for (std::size_t u = 0; u < half; ++u) numbers.insert(numbers.end(), {re[y * w + u], im[y * w + u]});
  }
  auto out = call.make_output(0, shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->lanes() != 2) return call.bad("the result is not complex");
  call.outputs[0] = Tensor::of(out->dtype, std::move(shape), numbers, call.wide());
  return {};
}

template <class F>
Status from_complex(KernelCall& call, F f) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 2) return call.bad("the operand is not complex");
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != x.store() || out->lanes() != 1) return call.bad("the result is not a float");
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    const auto from = x.data<T>();
    auto to = out->mutable_data<T>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(f(from[2 * i], from[2 * i + 1]));
  });
  call.outputs[0] = std::move(*out);
  return {};
}
Status complex_abs(KernelCall& call) {
  return from_complex(call, [](auto re, auto im) { return std::hypot(re, im); });
}
Status real(KernelCall& call) {
  return from_complex(call, [](auto re, auto) { return re; });
}
Status imag(KernelCall& call) {
  return from_complex(call, [](auto, auto im) { return im; });
}

}  // namespace

std::span<const KernelEntry> spectral_kernels() {
  static const std::array rows = {KernelEntry{"RFFT2D", rfft2d, 0, true},
                                  KernelEntry{"COMPLEX_ABS", complex_abs, 0, true},
                                  KernelEntry{"REAL", real, 0, true}, KernelEntry{"IMAG", imag, 0, true}};
  return rows;
}

}  // namespace md
