#include "lib/eval/primitives/contraction.h"

#include "lib/eval/primitives/gemm.h"
#include "lib/eval/primitives/quantized.h"
#include "lib/eval/primitives/requantize.h"
#include "lib/eval/primitives/sums.h"

namespace md {

template <class T>
void contract(KernelCall& call, const T* a, const T* b, std::span<const T> bias, T* out, std::size_t ldc,
              std::size_t m, std::size_t n, std::size_t k) {
  const NumericMode& mode = call.mode();
  if (mode.sums_in_f16() || call.options.watch_sums) {
    Summation summation(mode, mode.sums_in_f16(), call.options.watch_sums);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j)
        out[i * ldc + j] = summation.sum<T>(k, [&](std::size_t t) { return a[i * k + t] * b[j * k + t]; });
    call.watch(summation.largest());
  } else {
    multiply_transposed(a, k, b, k, out, ldc, m, n, k);
  }
  if (bias.empty()) return;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) out[i * ldc + j] += bias[j];
}
template void contract<float>(KernelCall&, const float*, const float*, std::span<const float>, float*,
                              std::size_t, std::size_t, std::size_t, std::size_t);
template void contract<double>(KernelCall&, const double*, const double*, std::span<const double>, double*,
                               std::size_t, std::size_t, std::size_t, std::size_t);

template <class T>
void contract_plain(KernelCall& call, const T* a, std::size_t lda, const T* b, std::size_t ldb, T* out,
                    std::size_t ldc, std::size_t m, std::size_t n, std::size_t k) {
  const NumericMode& mode = call.mode();
  if (!mode.sums_in_f16() && !call.options.watch_sums) return multiply(a, lda, b, ldb, out, ldc, m, n, k);
  Summation summation(mode, mode.sums_in_f16(), call.options.watch_sums);
  std::vector<T> column(k);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t t = 0; t < k; ++t) column[t] = b[t * ldb + j];
    for (std::size_t i = 0; i < m; ++i)
      out[i * ldc + j] = summation.sum<T>(k, [&](std::size_t t) { return a[i * lda + t] * column[t]; });
  }
  call.watch(summation.largest());
}
template void contract_plain<float>(KernelCall&, const float*, std::size_t, const float*, std::size_t, float*,
                                    std::size_t, std::size_t, std::size_t, std::size_t);
template void contract_plain<double>(KernelCall&, const double*, std::size_t, const double*, std::size_t,
                                     double*, std::size_t, std::size_t, std::size_t, std::size_t);

Result<Requantization> requantization(KernelCall& call, const Tensor& in, const Tensor& weights,
                                      const Tensor& out, std::int64_t channels, Activation activation,
                                      Requantization::Scaling scaling) {
  if (!per_tensor(in) || !per_tensor(out) || !weights.quantization || weights.quantization->scale.empty())
    return call.unsupported("on integers without scales");
  const auto& scales = weights.quantization->scale;
  const auto& zeros = weights.quantization->zero_point;
  if (scales.size() != 1 && static_cast<std::int64_t>(scales.size()) != channels)
    return call.bad(fmt::format("{} weight scales for {} channels", scales.size(), channels));
  Requantization r;
  r.scaling = scaling;
  r.in_zero = affine(in).zero, r.out_zero = affine(out).zero;
  for (const float s : scales) {
    const float in_scale = affine(in).scale, out_scale = affine(out).scale;
    r.scale.push_back(r.scaling != Requantization::Scaling::in_float
                          ? static_cast<double>(in_scale) * static_cast<double>(s) /
                                static_cast<double>(out_scale)
                          : static_cast<double>(in_scale * s / out_scale));
  }
  for (std::size_t i = 0; i < scales.size(); ++i)
    r.weight_zero.push_back(
        zeros.empty()
            ? 0
            : static_cast<std::int32_t>(zeros[zeros.size() == 1 ? 0 : std::min(i, zeros.size() - 1)]));
  std::tie(r.low, r.high) = with_store(out.store(), [&](auto zero) -> std::pair<std::int32_t, std::int32_t> {
    using T = decltype(zero);
    if constexpr (sizeof(T) <= 2)
      return activation_bounds<T>(activation, affine(out));
    else
      return {0, 0};
  });
  return r;
}

std::int32_t requantize(const Requantization& r, std::int64_t accumulator, std::size_t channel) {
  const double scale = r.scale[r.scale.size() == 1 ? 0 : channel];
  if (r.scaling != Requantization::Scaling::in_float) {
    const Multiplier m = quantize_multiplier(scale);
    const std::int64_t scaled = r.scaling == Requantization::Scaling::fixed_point_wide
                                    ? rescale(accumulator, m)
                                    : rescale(saturate_to<std::int32_t>(accumulator), m);
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(scaled + r.out_zero, r.low, r.high));
  }
  return scale_accumulator(accumulator, static_cast<float>(scale), r.out_zero, r.low, r.high);
}

}  // namespace md
