// Accumulators of quantized products to stored integers, as the CPU runtime does it by default: XNNPACK's
// kernels scale in float and round to nearest even, where the runtime's own kernels (fixed_point.h) use
// integers. The two differ by one step in about one element of a hundred.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

#include "lib/eval/primitives/quantized.h"

namespace md {

inline std::int32_t scale_accumulator(std::int64_t accumulator, float scale, std::int32_t zero,
                                      std::int32_t low, std::int32_t high) {
  const float scaled = static_cast<float>(accumulator) * scale;
  const float least = static_cast<float>(low - zero), most = static_cast<float>(high - zero);
  const float clamped = scaled < least ? least : scaled > most ? most : scaled;
  return static_cast<std::int32_t>(std::nearbyint(clamped)) + zero;
}

/// ADD and SUB: both operands multiplied by integers, one rounding shift.
struct QuantizedSum {
  std::int64_t a = 0, b = 0, bias = 0;
  int shift = 0;
  QuantizedSum(const Affine& x, const Affine& y, const Affine& out, bool subtract) {
    const float ratio_a = x.scale / out.scale, ratio_b = y.scale / out.scale;
    const float top = ratio_a > ratio_b ? ratio_a : ratio_b;
    shift = 20 - std::ilogb(top);
    if (shift < 1 || shift > 31) shift = shift < 1 ? 1 : 31;
    const double unit = std::ldexp(1.0, shift);
    a = std::llrint(static_cast<double>(ratio_a) * unit);
    b = std::llrint(static_cast<double>(ratio_b) * unit) * (subtract ? -1 : 1);
    bias = (std::int64_t{1} << (shift - 1)) - a * x.zero - b * y.zero;
  }
  std::int64_t of(std::int64_t x, std::int64_t y) const { return (bias + x * a + y * b) >> shift; }
};

}  // namespace md
