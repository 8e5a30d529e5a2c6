// Broadcasting as NumPy and TFLite do it: shapes aligned at the right, length-1 dimensions repeated.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "lib/graph/graph.h"
#include "lib/op/infer.h"

namespace md {

/// How operands walk through an output: neighbouring dimensions that all operands walk alike are merged, the
/// last one is the inner loop. Operands must broadcast to `output`.
class BroadcastPlan {
 public:
  static constexpr std::size_t max_operands = 4;
  BroadcastPlan(const Shape& output, std::span<const Shape* const> operands);

  /// Calls f(output offset, length, offset of each operand, inner step of each operand) for every row.
  template <class F>
  void each_row(F&& f) const {
    if (empty_) return;
    std::array<std::size_t, max_operands> offset{};
    std::vector<std::size_t> index(dims_.size(), 0);
    std::size_t at = 0;
    for (;;) {
      f(at, inner_, offset, inner_step_);
      at += inner_;
      std::size_t d = dims_.size();
      for (;;) {
        if (d == 0) return;
        --d;
        for (std::size_t k = 0; k < operands_; ++k) offset[k] += steps_[k][d];
        if (++index[d] < dims_[d]) break;
        for (std::size_t k = 0; k < operands_; ++k) offset[k] -= steps_[k][d] * dims_[d];
        index[d] = 0;
      }
    }
  }

 private:
  bool empty_ = false;
  std::size_t operands_ = 0, inner_ = 1;
  std::vector<std::size_t> dims_;  ///< outer dimensions
  std::array<std::vector<std::size_t>, max_operands> steps_;
  std::array<std::size_t, max_operands> inner_step_{};
};

/// out[i] = f(a, b) with broadcasting.
template <class T, class R, class F>
void broadcast_binary(std::span<const T> a, const Shape& a_shape, std::span<const T> b, const Shape& b_shape,
                      std::span<R> out, const Shape& out_shape, F&& f) {
  const Shape* shapes[] = {&a_shape, &b_shape};
  const BroadcastPlan plan(out_shape, shapes);
  plan.each_row([&](std::size_t at, std::size_t n, const auto& offset, const auto& step) {
    const T* x = a.data() + offset[0];
    const T* y = b.data() + offset[1];
    R* z = out.data() + at;
    if (step[0] == 1 && step[1] == 1)
      for (std::size_t i = 0; i < n; ++i) z[i] = f(x[i], y[i]);
    else if (step[0] == 1 && step[1] == 0)
      for (std::size_t i = 0; i < n; ++i) z[i] = f(x[i], *y);
    else if (step[0] == 0 && step[1] == 1)
      for (std::size_t i = 0; i < n; ++i) z[i] = f(*x, y[i]);
    else
      for (std::size_t i = 0; i < n; ++i) z[i] = f(x[i * step[0]], y[i * step[1]]);
  });
}

}  // namespace md
