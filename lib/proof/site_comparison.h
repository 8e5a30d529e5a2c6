// Two versions of a site on the same inputs: what may differ under a rewrite's promise, and what refutes it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/proof/counterexample.h"
#include "lib/proof/site_runner.h"
#include "lib/proof/tolerance.h"

namespace md {

/// Compares two versions of a site sample by sample and collects the worst of everything.
class SiteComparison {
 public:
  SiteComparison(const SiteRunner& runner, const ProofOptions& options, Proof& proof)
      : runner_(runner),
        options_(options),
        proof_(proof),
        tolerance_(
            Tolerance::of_site(options.exactness, options.max_error, runner.roundings(), runner.reduces())) {}

  enum class Verdict { equal, differs, not_evaluated };
  /// Runs one sample. `finite`: inputs are finite, a difference refutes; otherwise it is only stated.
  Verdict compare(const TensorMap& inputs, bool finite);
  const Disagreement& found() const { return found_; }
  const std::string& error() const { return error_; }
  /// The same comparison without bookkeeping, for shrinking a counterexample.
  std::optional<Disagreement> differ(const TensorMap& inputs) const;

 private:
  struct Pair {
    std::vector<Tensor> before, after;
    std::vector<Tensor> exact;  ///< the original in exact arithmetic; empty: nothing differs
    double terms = 0;           ///< largest finite |value| among the original's inputs and results
    bool overflows = false;     ///< from finite inputs some result of the original is infinite
  };
  /// The first element that may not be as it is.
  std::optional<Disagreement> disagreement(const Pair& pair, bool finite, Proof* record) const;
  Result<Pair> run(const TensorMap& inputs, std::optional<Disagreement>& broken) const;
  static bool differs(const Pair& pair);
  /// Keeps the worst of an element that differs, and what is to be said of it.
  static void note(Proof& record, Apart apart, const Disagreement& at, const Tensor& before,
                   const Tensor& after, double largest);

  const SiteRunner& runner_;
  const ProofOptions& options_;
  Proof& proof_;
  Tolerance tolerance_;
  Disagreement found_;
  std::string error_;
};

}  // namespace md
