#include "lib/graph/dtype.h"

#include <array>
#include <bit>
#include <utility>

namespace md {
namespace {
constexpr std::array<std::pair<std::string_view, int>, 28> table = {{
    {"unknown", 0}, {"f16", 16},   {"bf16", 16},    {"f32", 32},    {"f64", 64},   {"i2", 2},
    {"i4", 4},      {"i8", 8},     {"i16", 16},     {"i32", 32},    {"i64", 64},   {"u4", 4},
    {"u8", 8},      {"u16", 16},   {"u32", 32},     {"u64", 64},    {"bool", 8},   {"c32", 32},
    {"c64", 64},    {"c128", 128}, {"f8e4m3fn", 8}, {"f8e5m2", 8},  {"string", 0}, {"resource", 0},
    {"variant", 0}, {"symint", 0}, {"symfloat", 0}, {"symbool", 0},
}};
}  // namespace

std::string_view name(DType type) { return table[static_cast<std::size_t>(type)].first; }

std::optional<DType> dtype_from_name(std::string_view text) {
  for (std::size_t i = 1; i < table.size(); ++i)
    if (table[i].first == text) return static_cast<DType>(i);
  return std::nullopt;
}

int bit_width(DType type) { return table[static_cast<std::size_t>(type)].second; }

bool is_float(DType t) {
  return (t >= DType::f16 && t <= DType::f64) || t == DType::f8e4m3fn || t == DType::f8e5m2;
}
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

}  // namespace md
