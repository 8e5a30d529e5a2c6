#include "lib/graph/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace md {
namespace {
constexpr std::array<std::pair<std::string_view, int>, 33> table = {{
    {"unknown", 0},    {"f16", 16},     {"bf16", 16},   {"f32", 32},     {"f64", 64},     {"i2", 2},
    {"i4", 4},         {"i8", 8},       {"i16", 16},    {"i32", 32},     {"i64", 64},     {"u2", 2},
    {"u4", 4},         {"u8", 8},       {"u16", 16},    {"u32", 32},     {"u64", 64},     {"bool", 8},
    {"c32", 32},       {"c64", 64},     {"c128", 128},  {"f8e4m3fn", 8}, {"f8e5m2", 8},   {"f8e4m3fnuz", 8},
    {"f8e5m2fnuz", 8}, {"f8e8m0", 8},   {"f4e2m1", 4},  {"string", 0},   {"resource", 0}, {"variant", 0},
    {"symint", 0},     {"symfloat", 0}, {"symbool", 0},
}};
}  // namespace

std::string_view name(DType type) { return table[static_cast<std::size_t>(type)].first; }

std::optional<DType> dtype_from_name(std::string_view text) {
  for (std::size_t i = 1; i < table.size(); ++i)
    if (table[i].first == text) return static_cast<DType>(i);
  return std::nullopt;
}

int bit_width(DType type) { return table[static_cast<std::size_t>(type)].second; }

bool is_float(DType t) { return (t >= DType::f16 && t <= DType::f64) || is_small_float(t); }
bool is_integer(DType t) { return t >= DType::i2 && t <= DType::u64; }
bool is_signed(DType t) { return is_float(t) || (t >= DType::i2 && t <= DType::i64); }

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1fu;
  std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    exponent = 113;  // 127 - 15 + 1: a subnormal half is a normal float
    while (!(mantissa & 0x400u)) mantissa <<= 1, --exponent;
    return std::bit_cast<float>(sign | (exponent << 23) | ((mantissa & 0x3ffu) << 13));
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u | static_cast<std::uint16_t>((magnitude >> 13) & 0x3ffu);
  if (magnitude >= 0x47800000u) return sign | 0x7c00u;  // 65536 and above, infinity
  const auto exponent = static_cast<int>(magnitude >> 23) - 112;
  std::uint32_t mantissa = magnitude & 0x7fffffu;
  int shift = 13;
  std::uint32_t half = 0;
  if (exponent <= 0) {  // subnormal half, or zero
    if (exponent < -10) return sign;
    mantissa |= 0x800000u;
    shift = 14 - exponent;
  } else {
    half = static_cast<std::uint32_t>(exponent) << 10;
  }
  half += mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1u << shift) - 1);
  const std::uint32_t tie = 1u << (shift - 1);
  if (rest > tie || (rest == tie && (half & 1u))) ++half;  // may carry into the exponent: that is right
  return static_cast<std::uint16_t>(sign | half);
}

float bfloat_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  bits += 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<std::uint16_t>(bits >> 16);
}

namespace {

struct SmallFloat {
  int mantissa, bias;  ///< bits, and what the exponent is counted from
  double most;         ///< the largest finite number
  bool infinity, negative_zero;
  int nan;  ///< a code; -1: there is none
};

SmallFloat small_float(DType type) {
  switch (type) {
    case DType::f8e5m2:
      return {.mantissa = 2, .bias = 15, .most = 57344, .infinity = true, .negative_zero = true, .nan = 0x7f};
    case DType::f8e4m3fnuz:
      return {.mantissa = 3, .bias = 8, .most = 240, .infinity = false, .negative_zero = false, .nan = 0x80};
    case DType::f8e5m2fnuz:
      return {
          .mantissa = 2, .bias = 16, .most = 57344, .infinity = false, .negative_zero = false, .nan = 0x80};
    case DType::f8e8m0:
      return {.mantissa = 0,
              .bias = 127,
              .most = 0x1p127,
              .infinity = false,
              .negative_zero = false,
              .nan = 0xff};
    case DType::f4e2m1:
      return {.mantissa = 1, .bias = 1, .most = 6, .infinity = false, .negative_zero = true, .nan = -1};
    default:
      return {.mantissa = 3, .bias = 7, .most = 448, .infinity = false, .negative_zero = true, .nan = 0x7f};
  }
}

constexpr double nan_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

bool is_small_float(DType t) { return t >= DType::f8e4m3fn && t <= DType::f4e2m1; }

double round_to_small_float(DType type, double v, bool saturate) {
  const SmallFloat form = small_float(type);
  if (std::isnan(v)) return form.nan < 0 ? 0 : v;
  if (type == DType::f8e8m0) {  // no sign, no zero: the nearest power of two, the larger one at a tie
    if (!(v > 0)) return v < 0 ? nan_number : 0x1p-127;
    if (v > form.most) return saturate ? form.most : nan_number;
    int exponent = 0;
    const double half = std::frexp(v, &exponent);  // in [0.5, 1)
    return std::clamp(std::ldexp(1.0, half >= 0.75 ? exponent : exponent - 1), 0x1p-127, form.most);
  }
  int exponent = 0;
  std::frexp(v, &exponent);
  const int lowest = 1 - form.bias;
  const double step = std::ldexp(1.0, (v == 0 ? lowest : std::max(exponent - 1, lowest)) - form.mantissa);
  double rounded = std::isinf(v) ? v : std::nearbyint(v / step) * step;
  if (std::abs(rounded) > form.most) {
    if (saturate || form.nan < 0)
      rounded = std::copysign(form.most, v);
    else if (form.infinity)
      rounded = std::copysign(HUGE_VAL, v);
    else
      return nan_number;
  }
  return rounded == 0 && !form.negative_zero ? 0.0 : rounded;
}

double small_float_of(DType type, std::uint8_t code) {
  const SmallFloat form = small_float(type);
  if (code == form.nan) return nan_number;
  if (type == DType::f8e8m0) return std::ldexp(1.0, code - 127);
  const int width = bit_width(type), sign = 1 << (width - 1), magnitude = code & (sign - 1);
  const int exponent = magnitude >> form.mantissa, rest = magnitude & ((1 << form.mantissa) - 1);
  double number = exponent == 0
                      ? std::ldexp(rest, 1 - form.bias - form.mantissa)
                      : std::ldexp(rest + (1 << form.mantissa), exponent - form.bias - form.mantissa);
  if (number > form.most) number = form.infinity && rest == 0 ? HUGE_VAL : nan_number;
  return (code & sign) != 0 ? -number : number;
}

std::uint8_t small_float_code(DType type, double value) {
  const SmallFloat form = small_float(type);
  const double v = std::isinf(value) && form.infinity ? value : round_to_small_float(type, value, true);
  if (std::isnan(v)) return static_cast<std::uint8_t>(std::max(form.nan, 0));
  if (type == DType::f8e8m0) return static_cast<std::uint8_t>(std::ilogb(v) + 127);
  const int sign = std::signbit(v) ? 1 << (bit_width(type) - 1) : 0;
  const double size = std::abs(v);
  if (std::isinf(size)) return static_cast<std::uint8_t>(sign | 0x7c);
  int exponent = 0;
  std::frexp(size, &exponent);
  const int stored = size == 0 ? 0 : std::max(exponent - 1 + form.bias, 0);
  const int scale = stored == 0 ? 1 - form.bias : stored - form.bias;
  const auto units = static_cast<int>(std::ldexp(size, form.mantissa - scale));  // with the leading 1
  const int code = stored == 0 ? units : (stored << form.mantissa) + units - (1 << form.mantissa);
  return static_cast<std::uint8_t>(sign | code);
}

}  // namespace md
