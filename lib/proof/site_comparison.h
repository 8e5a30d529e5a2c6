// Two versions of a site on the same inputs: what may differ under a rewrite's promise, and what refutes it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/proof/counterexample.h"
#include "lib/proof/proof.h"
#include "lib/proof/site_runner.h"

namespace md {

/// Compares two versions of a site sample by sample and collects the worst of everything.
class SiteComparison {
 public:
  SiteComparison(const SiteRunner& runner, const ProofOptions& options, Proof& proof)
      : runner_(runner), options_(options), proof_(proof), roundings_(runner.roundings()) {}

  enum class Verdict { equal, differs, not_evaluated };
  /// Runs one sample. `finite`: inputs are finite, a difference refutes; otherwise it is only stated.
  Verdict compare(const TensorMap& inputs, bool finite);
  const Disagreement& found() const { return found_; }
  const std::string& error() const { return error_; }
  /// The same comparison without bookkeeping, for shrinking a counterexample.
  std::optional<Disagreement> differ(const TensorMap& inputs) const;

 private:
  struct Pair {
    std::vector<Tensor> before, after, judge;
    double scale = 0;        ///< largest finite |value| among the original's inputs and results
    bool overflows = false;  ///< from finite inputs some result of the original is infinite
  };
  /// How far elements may be apart under `rounding`; `own` is the original's error against exact arithmetic,
  /// in ulps.
  double rounding_allowance(const Tensor& a, double element, double scale, double own) const;
  /// The first element that may not be as it is.
  std::optional<Disagreement> disagreement(const Pair& pair, bool finite, Proof* record) const;
  Result<Pair> run(const TensorMap& inputs, std::optional<Disagreement>& broken) const;
  bool needs_judge(const Pair& pair) const;

  const SiteRunner& runner_;
  const ProofOptions& options_;
  Proof& proof_;
  double roundings_;
  Disagreement found_;
  std::string error_;
};

}  // namespace md
