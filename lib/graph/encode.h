// Numbers to the bytes of a constant and back.
#pragma once
#include <span>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// `values` (one per element, row-major) stored as `dtype`. Integers are rounded to nearest even and
/// saturated; with `quantization`, real values are divided by the scale and shifted first (per channel along
/// its axis).
std::vector<std::uint8_t> encode(DType dtype, const Shape& shape, std::span<const double> values,
                                 const Quantization* quantization = nullptr);

/// The stored numbers of a constant as doubles (i64 beyond 2^53 rounds); with `dequantize`, the real values
/// of a quantized constant. nullopt: not a constant, sparse, a type without numbers, or bytes that do not fit
/// the shape.
std::optional<std::vector<double>> decode(const Value& value, bool dequantize = false);
/// The same for integers, exact; for shapes, axes, permutations, indices. nullopt when not an integer
/// constant.
std::optional<std::vector<std::int64_t>> decode_integers(const Value& value);

/// Bytes that `count` elements of `dtype` take (sub-byte types are packed).
std::size_t storage_bytes(DType dtype, std::int64_t count);

}  // namespace md
