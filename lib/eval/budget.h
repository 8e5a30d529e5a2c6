// What looking at a model may cost: every comparison, proof and estimate divides one of these by the work of
// one run (lib/op/work.h, SiteRunner::work), and no other number says how much is affordable.
#pragma once
#include <algorithm>
#include <cstdint>

namespace md {

struct Budget {
  /// Multiply-adds of the reference evaluator: about a nanosecond each.
  double work = 0;
  /// Of what is kept or read on the way; 0: not limited here.
  std::int64_t bytes = 0;

  /// How many runs of `work_of_one` it pays for, at most `wanted`; 0: not one.
  int runs(double work_of_one, int wanted) const {
    return static_cast<int>(std::clamp(work / std::max(work_of_one, 1.0), 0.0, static_cast<double>(wanted)));
  }
};

/// One proof of one site: well under a second, a model may have hundreds.
inline constexpr Budget budget_of_proof{.work = 3e8};
/// Making one counterexample smaller.
inline constexpr Budget budget_of_counterexample{.work = 1e8};
/// `verify` of two models; bytes: of values kept to find the first layer that differs.
inline constexpr Budget budget_of_models{.work = 4e9, .bytes = std::int64_t{512} << 20};
/// The comparison that ends a fix: a few seconds. Bytes: of weights. They are mapped, not read: a comparison
/// would page all of them in, and a fix takes no longer than a copy. `verify` has no such limit.
inline constexpr Budget budget_of_fix{.work = 2e9, .bytes = std::int64_t{256} << 20};
/// Two arithmetics side by side on random inputs, which show little about a large model.
inline constexpr Budget budget_of_estimate{.work = 3e8};
/// The same on inputs that the user gave: worth some seconds. Bytes: of values kept by layer.
inline constexpr Budget budget_of_report{.work = 3e9, .bytes = std::int64_t{768} << 20};

}  // namespace md
