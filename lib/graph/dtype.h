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
  u2,
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
  f8e4m3fnuz,  ///< one NaN, no negative zero
  f8e5m2fnuz,
  f8e8m0,  ///< powers of two
  f4e2m1,
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
bool is_float(DType type);    ///< f16, bf16, f32, f64 and the f8 and f4 types
bool is_integer(DType type);  ///< signed and unsigned, not bool
bool is_signed(DType type);

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);  ///< round to nearest even; overflow gives infinity
float bfloat_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat(float value);  ///< round to nearest even

/// The float types of 8 and 4 bits (f8e4m3fn ... f4e2m1), as ONNX and the OCP formats define them.
bool is_small_float(DType type);
/// Nearest number of a small float type, ties to even. Past its largest finite number: that number when
/// `saturate` or when the type has no other, else infinity, else NaN.
double round_to_small_float(DType type, double value, bool saturate);
double small_float_of(DType type, std::uint8_t code);
/// The code of a number that the type has (round_to_small_float); others are rounded first, saturating.
std::uint8_t small_float_code(DType type, double value);

}  // namespace md
