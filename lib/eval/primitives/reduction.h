// Which elements make each result of a reduction, and sums over them in the arithmetic of the numeric mode.
#pragma once
#include <vector>

#include "lib/eval/kernel.h"
#include "lib/eval/primitives/strided.h"
#include "lib/eval/primitives/sums.h"

namespace md {

/// Result r is over the elements first[r] + offset[k].
struct Reduction {
  Shape shape;                        ///< of the result
  View kept;                          ///< walks the results
  std::vector<std::int64_t> offsets;  ///< of the reduced elements, row-major
  std::size_t length() const { return offsets.size(); }
};

/// `reduced`: one mark a dimension of `in`. `keep`: reduced dimensions stay, of size 1.
Reduction reduction_over(const Shape& in, const std::vector<bool>& reduced, bool keep);

/// f(result index, offset of its first element)
template <class F>
void each_result(const Reduction& r, F&& f) {
  const std::size_t n = static_cast<std::size_t>(product(r.kept.dims));
  std::vector<std::int64_t> index(r.kept.dims.size(), 0);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    f(i, at);
    for (std::size_t d = index.size(); d-- > 0;) {
      at += r.kept.steps[d];
      if (++index[d] < r.kept.dims[d]) break;
      at -= r.kept.steps[d] * r.kept.dims[d];
      index[d] = 0;
    }
  }
}

/// Sums as the mode keeps them. A mean may have its sum in fp32 where other sums are in fp16
/// (NumericMode::wide_mean); such a sum cannot overflow and is not watched.
class ModeSum {
 public:
  ModeSum(KernelCall& call, bool mean)
      : call_(call),
        watched_(call.options.watch_sums && (!mean || !call.mode().wide_mean)),
        summation_(call.mode(), call.mode().sums_in_f16() && (!mean || !call.mode().wide_mean),
                   call.options.watch_sums) {}
  ~ModeSum() {
    if (watched_) call_.watch(summation_.largest());
  }
  ModeSum(const ModeSum&) = delete;
  ModeSum& operator=(const ModeSum&) = delete;
  template <class T, class F>
  T of(std::size_t n, F&& term) {
    return summation_.template sum<T>(n, term);
  }

 private:
  KernelCall& call_;
  bool watched_;
  Summation summation_;
};

}  // namespace md
