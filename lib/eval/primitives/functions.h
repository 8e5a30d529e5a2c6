// Scalar functions that operators of several formats are made of, each in the arithmetic of its argument.
#pragma once
#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

namespace md {

/// False for every integer.
template <class T>
bool is_nan(T v) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(v);
  else
    return false;
}
template <class T>
T logistic(T v) {
  return T(1) / (T(1) + std::exp(-v));
}
template <class T>
T gelu_by_erf(T v) {
  return T(0.5) * v * (T(1) + std::erf(v * static_cast<T>(std::numbers::sqrt2 / 2)));
}
template <class T>
T gelu_by_tanh(T v) {
  const T c = static_cast<T>(0.7978845608028654);  // sqrt(2 / pi)
  return T(0.5) * v * (T(1) + std::tanh(c * (v + T(0.044715) * v * v * v)));
}
/// min(max(v + 3, 0), 6); a NaN stays one.
template <class T>
T relu6_of_plus_3(T v) {
  const T w = v + T(3);
  return w < T(0) ? T(0) : w > T(6) ? T(6) : w;
}
/// Between low and high; a NaN stays one, and high wins where they cross.
template <class T>
T clamped(T v, T low, T high) {
  v = v < low ? low : v;
  return v > high ? high : v;
}

}  // namespace md
