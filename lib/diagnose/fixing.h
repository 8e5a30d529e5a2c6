// Proposed patches to proven, chosen and applied ones.
#pragma once
#include <optional>
#include <vector>

#include "lib/diagnose/detection.h"
#include "lib/diagnose/diagnosis.h"
#include "lib/diagnose/surroundings.h"
#include "lib/proof/proof_memo.h"

namespace md {

struct FixingInput {
  const Model& model;
  const std::vector<FoundSite>& sites;
  const std::vector<const Target*>& targets;
  const DiagnoseOptions& options;
  ProofMemo& proofs;                       ///< kept from round to round
  const std::vector<Rule>& book;           ///< all rules: what is known of the operators that a fix uses
  const std::vector<const Rule*>& chosen;  ///< those that --select and --ignore leave
};

struct FixingResult {
  std::vector<std::vector<ReportedFix>>
      fixes;                   ///< parallel to the sites; what was tried, the applied one marked
  std::optional<Model> model;  ///< the rewritten model; nullopt: nothing was applied
};

/// Proves each site's fixes in order and takes the first that may be applied, then applies those that do not
/// touch each other; the rest comes in the next round.
FixingResult mend(const FixingInput& input);

/// The proposals as candidates, neither proven nor applied, with what they would cost.
std::vector<ReportedFix> list_candidates(const Surroundings& surroundings, const FoundSite& site,
                                         const DiagnoseOptions& options);

}  // namespace md
