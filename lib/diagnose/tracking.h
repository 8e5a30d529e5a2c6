// Findings from round to round: which site is which, which fix removed which fault, and which lines of the
// log belong to a fault besides those that its rule knows.
#pragma once
#include <set>
#include <vector>

#include "lib/diagnose/detection.h"
#include "lib/diagnose/diagnosis.h"
#include "lib/diagnose/evidence.h"

namespace md {

/// A finding with what identifies it from round to round.
struct Tracked {
  const Rule* rule = nullptr;
  int graph = 0;
  std::vector<NodeId> nodes;
  int seen = 0;  ///< the last round that found it
  Finding finding;
  bool applied() const {
    return std::any_of(finding.fixes.begin(), finding.fixes.end(),
                       [](const ReportedFix& fix) { return fix.applied; });
  }
};

struct TrackedRound {
  std::vector<Tracked> all;
  std::vector<std::size_t> of_site;  ///< index into `all` for every site of the round
};

/// What is known already, with the sites that this round found. `assumed`: a target's table is of another
/// version.
TrackedRound track(std::vector<Tracked> known, const std::vector<FoundSite>& sites, const Model& model,
                   int round, bool assumed);

/// A finding that no fix of its own mended and that the last round did not find: another fix removed its
/// cause.
std::vector<Tracked> with_mended(std::vector<Tracked> all, int last_round);

/// A fault inside the site of a larger one is its consequence.
std::vector<Tracked> with_causes(std::vector<Tracked> all);

/// Records (indices of the evidence) that some finding explains.
std::set<int> explained_records(const std::vector<Tracked>& all);

/// Records whose nodes lie in the site of another rule's finding: one rewrite often removes several
/// complaints. A mended site adopts only what is really gone.
std::vector<Tracked> with_adopted_records(std::vector<Tracked> all, const std::vector<LogEvidence>& evidence,
                                          const std::vector<Prediction>& predictions, const Model& now);

}  // namespace md
