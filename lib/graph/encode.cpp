#include "lib/graph/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace md {
namespace {

/// Calls f(i, channel) for every element, with the index along the quantized axis.
template <class F>
void for_each_channel(const Shape& shape, int axis, std::size_t count, F&& f) {
  std::size_t inner = 1;
  for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < shape.size(); ++d)
    inner *= static_cast<std::size_t>(shape[d]);
  const std::size_t channels =
      shape.empty() ? 1 : static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  for (std::size_t i = 0; i < count; ++i) f(i, inner && channels ? (i / inner) % channels : 0);
}

bool usable(const Quantization& q, const Shape& shape) {
  if (q.scale.empty()) return false;
  if (!q.zero_point.empty() && q.zero_point.size() != q.scale.size() && q.zero_point.size() != 1)
    return false;
  if (q.scale.size() == 1) return true;
  return q.axis >= 0 && static_cast<std::size_t>(q.axis) < shape.size() &&
         static_cast<std::size_t>(shape[static_cast<std::size_t>(q.axis)]) == q.scale.size();
}

double zero_point(const Quantization& q, std::size_t channel) {
  if (q.zero_point.empty()) return 0;
  return static_cast<double>(q.zero_point[q.zero_point.size() == 1 ? 0 : channel]);
}

template <class T>
T saturate(double v) {
  if (std::isnan(v)) return 0;
  v = std::nearbyint(v);
  if (v <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (v >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(v);
}

template <class T>
void store(std::vector<std::uint8_t>& out, std::size_t i, T v) {
  std::memcpy(out.data() + i * sizeof(T), &v, sizeof(T));
}

template <class T>
T load(Bytes bytes, std::size_t i) {
  T v;
  std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
  return v;
}

int sub_byte(Bytes bytes, std::size_t i, int bits) {
  const std::size_t per_byte = static_cast<std::size_t>(8 / bits);
  return (bytes[i / per_byte] >> (static_cast<int>(i % per_byte) * bits)) & ((1 << bits) - 1);
}

/// Numbers as the elements of `dtype`; false for a type that holds no real numbers.
bool read_elements(DType dtype, Bytes bytes, std::vector<double>& out) {
  const auto each = [&](const auto& number) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(number(i));
    return true;
  };
  const auto plain = [&]<typename T>(T) { return each([&](std::size_t i) { return load<T>(bytes, i); }); };
  switch (dtype) {
    case DType::f32:
      return plain(float{});
    case DType::f64:
      return plain(double{});
    case DType::f16:
      return each([&](std::size_t i) { return half_to_float(load<std::uint16_t>(bytes, i)); });
    case DType::bf16:
      return each([&](std::size_t i) { return bfloat_to_float(load<std::uint16_t>(bytes, i)); });
    case DType::boolean:
      return each([&](std::size_t i) { return bytes[i] ? 1 : 0; });
    case DType::i8:
      return plain(std::int8_t{});
    case DType::u8:
      return plain(std::uint8_t{});
    case DType::i16:
      return plain(std::int16_t{});
    case DType::u16:
      return plain(std::uint16_t{});
    case DType::i32:
      return plain(std::int32_t{});
    case DType::u32:
      return plain(std::uint32_t{});
    case DType::i64:
      return plain(std::int64_t{});
    case DType::u64:
      return plain(std::uint64_t{});
    case DType::i4:
    case DType::i2:
      return each([&, bits = bit_width(dtype)](std::size_t i) {
        const int raw = sub_byte(bytes, i, bits);
        return raw >= (1 << (bits - 1)) ? raw - (1 << bits) : raw;
      });
    case DType::u4:
    case DType::u2:
      return each([&, bits = bit_width(dtype)](std::size_t i) { return sub_byte(bytes, i, bits); });
    default:
      if (!is_small_float(dtype)) return false;
      return each([&, bits = bit_width(dtype)](std::size_t i) {
        return small_float_of(dtype, static_cast<std::uint8_t>(sub_byte(bytes, i, bits)));
      });
  }
}

/// The code of an element in 2, 4 or 8 bits: two's complement, unsigned, or a small float.
int small_code(DType dtype, double number) {
  if (is_small_float(dtype)) return small_float_code(dtype, number);
  const int bits = bit_width(dtype), low = is_signed(dtype) ? -(1 << (bits - 1)) : 0;
  const int n = std::clamp(static_cast<int>(saturate<std::int32_t>(number)), low, low + (1 << bits) - 1);
  return n & ((1 << bits) - 1);
}

/// The first element lowest.
void write_sub_bytes(DType dtype, std::span<const double> numbers, std::vector<std::uint8_t>& out) {
  const int bits = bit_width(dtype);
  const std::size_t per_byte = static_cast<std::size_t>(8 / bits);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    out[i / per_byte] = static_cast<std::uint8_t>(
        out[i / per_byte] | (small_code(dtype, numbers[i]) << (static_cast<int>(i % per_byte) * bits)));
}

/// The reverse of read_elements, saturating; types without real numbers stay zero.
void write_elements(DType dtype, std::span<const double> numbers, std::vector<std::uint8_t>& out) {
  const auto each = [&](const auto& element) {
    for (std::size_t i = 0; i < numbers.size(); ++i) store(out, i, element(numbers[i]));
  };
  const auto integers = [&]<typename T>(T) { each([](double v) { return saturate<T>(v); }); };
  switch (dtype) {
    case DType::f32:
      return each([](double v) { return static_cast<float>(v); });
    case DType::f64:
      return each([](double v) { return v; });
    case DType::f16:
      return each([](double v) { return float_to_half(static_cast<float>(v)); });
    case DType::bf16:
      return each([](double v) { return float_to_bfloat(static_cast<float>(v)); });
    case DType::boolean:
      return each([](double v) { return static_cast<std::uint8_t>(v != 0); });
    case DType::i8:
      return integers(std::int8_t{});
    case DType::u8:
      return integers(std::uint8_t{});
    case DType::i16:
      return integers(std::int16_t{});
    case DType::u16:
      return integers(std::uint16_t{});
    case DType::i32:
      return integers(std::int32_t{});
    case DType::u32:
      return integers(std::uint32_t{});
    case DType::i64:
      return integers(std::int64_t{});
    case DType::u64:
      return integers(std::uint64_t{});
    case DType::i4:
    case DType::i2:
    case DType::u4:
    case DType::u2:
      return write_sub_bytes(dtype, numbers, out);
    default:
      if (is_small_float(dtype)) write_sub_bytes(dtype, numbers, out);
      return;
  }
}

}  // namespace

std::size_t storage_bytes(DType dtype, std::int64_t count) {
  return (static_cast<std::size_t>(count) * static_cast<std::size_t>(bit_width(dtype)) + 7) / 8;
}

std::vector<std::uint8_t> encode(DType dtype, const Shape& shape, std::span<const double> values,
                                 const Quantization* q) {
  std::vector<double> stored(values.begin(), values.end());
  if (q && usable(*q, shape) && !is_float(dtype))
    for_each_channel(shape, q->axis < static_cast<int>(shape.size()) ? q->axis : 0, stored.size(),
                     [&](std::size_t i, std::size_t c) {
                       const std::size_t k = q->scale.size() == 1 ? 0 : c;
                       stored[i] = stored[i] / static_cast<double>(q->scale[k]) + zero_point(*q, k);
                     });
  std::vector<std::uint8_t> out(storage_bytes(dtype, static_cast<std::int64_t>(stored.size())), 0);
  write_elements(dtype, stored, out);
  return out;
}

std::optional<std::vector<double>> decode(const Value& value, bool dequantize) {
  if (!value.constant || value.sparsity) return std::nullopt;
  const auto count = element_count(value.shape);
  if (!count || bit_width(value.dtype) == 0) return std::nullopt;
  const Bytes bytes = value.constant->bytes;
  // The count comes from the file: compare without multiplying, then allocate.
  if (static_cast<std::uint64_t>(*count) / 8 > bytes.size() ||
      storage_bytes(value.dtype, *count) != bytes.size())
    return std::nullopt;
  const auto n = static_cast<std::size_t>(*count);
  std::vector<double> out(n);
  if (!read_elements(value.dtype, bytes, out)) return std::nullopt;
  if (dequantize && value.quantization && !value.quantization->scale.empty() && !is_float(value.dtype)) {
    const Quantization& q = *value.quantization;
    if (!usable(q, value.shape)) return std::nullopt;
    for_each_channel(value.shape, q.scale.size() == 1 ? 0 : q.axis, n, [&](std::size_t i, std::size_t c) {
      const std::size_t k = q.scale.size() == 1 ? 0 : c;
      out[i] = (out[i] - zero_point(q, k)) * static_cast<double>(q.scale[k]);
    });
  }
  return out;
}

std::optional<std::vector<std::int64_t>> decode_integers(const Value& value) {
  if (!is_integer(value.dtype) && value.dtype != DType::boolean) return std::nullopt;
  if (value.dtype == DType::i64 && value.constant) {
    const auto count = element_count(value.shape);
    if (!count || value.sparsity || value.constant->bytes.size() / 8 != static_cast<std::uint64_t>(*count) ||
        value.constant->bytes.size() % 8)
      return std::nullopt;
    std::vector<std::int64_t> out(static_cast<std::size_t>(*count));
    if (!out.empty()) std::memcpy(out.data(), value.constant->bytes.data(), out.size() * 8);
    return out;
  }
  const auto numbers = decode(value);
  if (!numbers) return std::nullopt;
  std::vector<std::int64_t> out(numbers->size());
  std::transform(numbers->begin(), numbers->end(), out.begin(),
                 [](double d) { return static_cast<std::int64_t>(d); });
  return out;
}

}  // namespace md
