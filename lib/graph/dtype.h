// Element types of every format the doctor reads, and f16/bf16 conversion.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace md {

enum class DType : std::uint8_t {
  unknown,
  f16,
  bf16,
  f32,
  f64,
  i2,
  i4,
  i8,
  i16,
  i32,
  i64,
  u4,
  u8,
  u16,
  u32,
  u64,
  boolean,
  c32,
  c64,
  c128,  ///< c64 is a pair of f32
  f8e4m3fn,
  f8e5m2,
  string,
  resource,
  variant,
  symint,
  symfloat,
  symbool  ///< scalars of a torch.export program
};

/// The name in the text form of graphs and in reports: "f32", "i8", "bool".
std::string_view name(DType type);
std::optional<DType> dtype_from_name(std::string_view name);
/// Bits of one element; 0 when it has no fixed size (string, resource, variant, symbols, unknown).
int bit_width(DType type);
bool is_float(DType type);    ///< f16, bf16, f32, f64 and the f8 types
bool is_integer(DType type);  ///< signed and unsigned, not bool
bool is_signed(DType type);

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);  ///< round to nearest even; overflow gives infinity
float bfloat_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat(float value);  ///< round to nearest even

}  // namespace md
