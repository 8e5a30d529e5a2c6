// Softmax and its logarithm over one row of neighbouring elements.
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>

namespace md {

/// A NaN anywhere in the row makes all of it NaN: comparing alone would lose it, the exponentials keep it.
template <class T>
void softmax_row(const T* x, T* y, std::size_t n, T beta, bool logarithm) {
  T top = -std::numeric_limits<T>::infinity();
  for (std::size_t i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
  if (logarithm) {
    T sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(x[i] - top);
    const T shift = std::log(sum);
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] - top - shift;
    return;
  }
  for (std::size_t i = 0; i < n; ++i) y[i] = std::exp((x[i] - top) * beta);
  T sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += y[i];
  const T inverse = T(1) / sum;
  for (std::size_t i = 0; i < n; ++i) y[i] *= inverse;
}

}  // namespace md
