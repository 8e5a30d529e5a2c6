// Sums in the arithmetic of a numeric mode.
#pragma once
#include <cmath>
#include <cstddef>

#include "lib/eval/evaluator.h"

namespace md {

/// Sums terms of a row in the mode's order and precision and remembers the largest |partial sum|.
/// `term(i)` gives term i; in fp16 modes it must already be what the device would hold (an fp16 product is
/// not rounded: devices fuse it into the addition).
class Summation {
 public:
  Summation(const NumericMode& mode, bool in_f16, bool watch) : mode_(mode), in_f16_(in_f16), watch_(watch) {}

  template <class T, class F>
  T sum(std::size_t n, F&& term) {
    if (in_f16_ && mode_.arithmetic == Arithmetic::f16_tree) return tree<T>(0, n, term);
    if (in_f16_ || watch_) return serial<T>(n, term);
    return pairwise<T>(0, n, term);
  }
  double largest() const { return largest_; }

 private:
  template <class T>
  T rounded(T v) const {
    if constexpr (sizeof(T) == sizeof(float))
      return in_f16_ ? round_to_f16(v, mode_.saturate) : v;
    else
      return v;
  }
  template <class T>
  void note(T v) {
    const double m = std::abs(static_cast<double>(v));
    if (m > largest_) largest_ = m;
  }
  template <class T, class F>
  T serial(std::size_t n, F& term) {
    T s = 0;
    for (std::size_t i = 0; i < n; ++i) {
      s = rounded<T>(s + term(i));
      note(s);
    }
    return s;
  }
  template <class T, class F>
  T tree(std::size_t from, std::size_t n, F& term) {
    if (n == 0) return 0;
    if (n == 1) return rounded<T>(term(from));
    const std::size_t half = n / 2;
    const T s = rounded<T>(tree<T>(from, half, term) + tree<T>(from + half, n - half, term));
    note(s);
    return s;
  }
  /// Short runs one after the other, runs in pairs: the error grows with log n, as with the vector code of
  /// CPU kernels.
  template <class T, class F>
  T pairwise(std::size_t from, std::size_t n, F& term) {
    if (n <= 32) {
      T s = 0;
      for (std::size_t i = 0; i < n; ++i) s += term(from + i);
      return s;
    }
    const std::size_t half = n / 2;
    return pairwise<T>(from, half, term) + pairwise<T>(from + half, n - half, term);
  }

  NumericMode mode_;
  bool in_f16_, watch_;
  double largest_ = 0;
};

}  // namespace md
