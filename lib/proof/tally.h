// Outputs of two models, sample by sample, collected into one comparison.
#pragma once
#include <string>
#include <vector>

#include "lib/eval/difference.h"
#include "lib/proof/compare_models.h"
#include "lib/proof/tolerance.h"

namespace md {

/// Outputs of one sample, in A's order.
struct ModelOutputs {
  std::vector<Tensor> a, b;
  std::vector<Tensor> exact;  ///< A in double; empty when not needed
};

/// Collects the samples into the result.
class Tally {
 public:
  Tally(ModelComparison& result, const CompareOptions& options);
  /// False when an output of this sample differs more than it may.
  bool add(const ModelOutputs& o, const std::string& text, bool ordinary);
  void finish();

 private:
  void count(std::size_t k, const ModelOutputs& o, bool fine, const std::string& text, bool ordinary);
  /// Whether this difference is the one to show: what is not allowed before what is, ordinary inputs before
  /// extremes, then the larger.
  bool tells_more(const OutputComparison& output, std::size_t k, const Difference& d, bool fine,
                  bool ordinary);

  ModelComparison& result_;
  Tolerance tolerance_;
  std::vector<int> shown_;  ///< by output: the rank of the difference that `where` shows, -1: none
  std::int64_t same_rows_ = 0, rows_ = 0, left_range_ = 0;
  int ill_conditioned_ = 0;
  bool all_good_ = true;
};

}  // namespace md
