// Integer rescaling exactly as the TFLite kernels do it (tensorflow/lite/kernels/internal: quantization_util,
// common.h). The default of the runtime is "double rounding": a saturating rounding doubling high
// multiplication, then a rounding shift right.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

namespace md {

struct Multiplier {
  std::int32_t value = 0;  ///< in [2^30, 2^31), or 0
  int shift = 0;           ///< left shift when positive
};

inline Multiplier quantize_multiplier(double real) {
  if (real == 0) return {};
  Multiplier m;
  const double fraction = std::frexp(real, &m.shift);
  auto fixed = static_cast<std::int64_t>(std::round(fraction * (std::int64_t{1} << 31)));
  if (fixed == (std::int64_t{1} << 31)) fixed /= 2, ++m.shift;
  if (m.shift < -31) m.shift = 0, fixed = 0;
  if (m.shift > 30) m.shift = 30, fixed = (std::int64_t{1} << 31) - 1;
  m.value = static_cast<std::int32_t>(fixed);
  return m;
}

inline std::int32_t doubling_high_multiply(std::int32_t a, std::int32_t b) {
  if (a == b && a == std::numeric_limits<std::int32_t>::min())
    return std::numeric_limits<std::int32_t>::max();
  const std::int64_t ab = static_cast<std::int64_t>(a) * b;
  const std::int32_t nudge = ab >= 0 ? (1 << 30) : (1 - (1 << 30));
  return static_cast<std::int32_t>((ab + nudge) / (std::int64_t{1} << 31));
}

inline std::int32_t rounding_shift_right(std::int32_t x, int exponent) {
  if (exponent <= 0) return x;
  if (exponent > 31) return 0;
  const auto mask = static_cast<std::int32_t>((std::int64_t{1} << exponent) - 1);
  const std::int32_t remainder = x & mask;
  const std::int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + (remainder > threshold ? 1 : 0);
}

inline std::int32_t rescale(std::int32_t x, const Multiplier& m) {
  const int left = m.shift > 0 ? m.shift : 0, right = m.shift > 0 ? 0 : -m.shift;
  // The runtime lets this shift wrap; unsigned arithmetic gives the same without undefined behaviour.
  const auto shifted = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << left);
  return rounding_shift_right(doubling_high_multiply(shifted, m.value), right);
}

/// For 64-bit accumulators (int16 activations).
inline std::int32_t rescale(std::int64_t x, const Multiplier& m) {
  const std::int64_t reduced = m.value < 0x7fff0000 ? (m.value + (1 << 15)) >> 16 : 0x7fff;
  const int total = 15 - m.shift;
  const std::int64_t round = std::int64_t{1} << (total - 1);
  return static_cast<std::int32_t>((x * reduced + round) >> total);
}

}  // namespace md
