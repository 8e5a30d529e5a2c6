// Quantized forms shared by the kernels: stored integers through scale and zero point, as the TFLite kernels
// define them.
#pragma once
#include <cmath>
#include <limits>

#include "lib/eval/kernel.h"
#include "lib/eval/primitives/fixed_point.h"

namespace md {

/// Scale and zero point of a per-tensor quantized tensor.
struct Affine {
  float scale = 1;
  std::int32_t zero = 0;
};
inline Affine affine(const Tensor& t) {
  if (!t.quantization || t.quantization->scale.empty()) return {};
  return {t.quantization->scale[0],
          t.quantization->zero_point.empty() ? 0 : static_cast<std::int32_t>(t.quantization->zero_point[0])};
}
inline bool per_tensor(const Tensor& t) { return t.quantization && t.quantization->scale.size() == 1; }

template <class T>
T saturate_to(std::int64_t v) {
  return static_cast<T>(
      std::clamp<std::int64_t>(v, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

/// real -> stored, rounding half away from zero (TfLiteRound), saturating.
template <class T>
T quantized_value(float real, const Affine& q) {
  const float scaled = std::round(real / q.scale);
  if (std::isnan(scaled)) return saturate_to<T>(q.zero);
  const double v = static_cast<double>(scaled) + q.zero;
  if (v <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (v >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(v);
}

/// Element by element through the real value; i8, u8 and i16.
template <class F>
Status quantized_unary(KernelCall& call, const Tensor& x, Tensor& out, F f) {
  if (!per_tensor(x) || !per_tensor(out)) return call.unsupported("on a tensor quantized per channel");
  const Affine in = affine(x), to = affine(out);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const auto from = x.data<T>();
    auto into = out.mutable_data<T>();
    for (std::size_t i = 0; i < from.size(); ++i)
      into[i] = quantized_value<T>(
          f(in.scale * static_cast<float>(static_cast<std::int32_t>(from[i]) - in.zero)), to);
    return Status{};
  };
  switch (x.store()) {
    case Store::i8:
      return run(std::int8_t{});
    case Store::u8:
      return run(std::uint8_t{});
    case Store::i16:
      return run(std::int16_t{});
    default:
      return call.unsupported(fmt::format("on quantized {}", name(x.dtype)));
  }
}

/// Bounds of a fused activation in stored integers.
template <class T>
std::pair<std::int32_t, std::int32_t> activation_bounds(Activation activation, const Affine& q) {
  std::int32_t low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  const auto stored = [&](float real) {
    return static_cast<std::int32_t>(std::round(real / q.scale)) + q.zero;
  };
  if (activation == Activation::relu || activation == Activation::relu6) low = std::max(low, stored(0));
  if (activation == Activation::relu6) high = std::min(high, stored(6));
  if (activation == Activation::relu_n1_to_1)
    low = std::max(low, stored(-1)), high = std::min(high, stored(1));
  return {low, high};
}

}  // namespace md
