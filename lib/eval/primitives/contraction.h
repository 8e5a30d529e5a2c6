// Dot products in a numeric mode: through the matrix library when sums are plain, one term after the other
// when they are in fp16 or watched.
#pragma once
#include <span>

#include "lib/eval/kernel.h"

namespace md {

/// out[m x n] = a[m x k] * transposed(b[n x k]) + bias[n] (bias may be empty); rows `ldc` apart in out.
template <class T>
void contract(KernelCall& call, const T* a, const T* b, std::span<const T> bias, T* out, std::size_t ldc,
              std::size_t m, std::size_t n, std::size_t k);

/// out[m x n] = a[m x k] * b[k x n]; rows lda, ldb and ldc apart.
template <class T>
void contract_plain(KernelCall& call, const T* a, std::size_t lda, const T* b, std::size_t ldb, T* out,
                    std::size_t ldc, std::size_t m, std::size_t n, std::size_t k);

/// Quantized: accumulators of (a - a_zero) * (b - b_zero[j]), then per output channel rescaled, shifted and
/// clamped.
struct Requantization {
  std::vector<double> scale;  ///< one, or one an output channel: in_scale * weight_scale / out_scale
  /// Which kernels the runtime uses: XNNPACK's, its own, or its own for 16-bit activations.
  enum class Scaling { in_float, fixed_point, fixed_point_wide } scaling = Scaling::in_float;
  std::int32_t in_zero = 0, out_zero = 0, low = 0, high = 0;
  std::vector<std::int32_t> weight_zero;  ///< one, or one an output channel
};
/// Scale and zero points of the three tensors; error when they do not fit (`channels` outputs).
Result<Requantization> requantization(KernelCall& call, const Tensor& in, const Tensor& weights,
                                      const Tensor& out, std::int64_t channels, Activation activation,
                                      Requantization::Scaling scaling);
/// What the runtime uses for convolutions and dense layers on this type of activations.
inline Requantization::Scaling usual_scaling(const Tensor& in) {
  return in.store() == Store::i16 ? Requantization::Scaling::fixed_point_wide
                                  : Requantization::Scaling::in_float;
}
/// One accumulator to its stored value; `channel` selects the scale.
std::int32_t requantize(const Requantization& r, std::int64_t accumulator, std::size_t channel);

}  // namespace md
