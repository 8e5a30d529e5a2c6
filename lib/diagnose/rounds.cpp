#include "lib/diagnose/rounds.h"

#include <algorithm>

#include "lib/diagnose/fixing.h"

namespace md {
namespace {

std::vector<std::string> rules_not_there(const RoundResult& found) {
  std::vector<std::string> ids;
  for (const Rule* rule : found.silent_rules_run)
    if (std::none_of(found.sites.begin(), found.sites.end(),
                     [&](const FoundSite& site) { return site.rule == rule; }))
      ids.push_back(rule->id);
  return ids;
}

/// Parallel to the sites: what could be tried on each, neither proven nor applied.
std::vector<std::vector<ReportedFix>> candidates(const Model& model, const std::vector<FoundSite>& sites,
                                                 const DiagnoseOptions& options) {
  const Surroundings surroundings(model);
  std::vector<std::vector<ReportedFix>> fixes;
  for (const FoundSite& site : sites) fixes.push_back(list_candidates(surroundings, site, options));
  return fixes;
}

void keep_fixes(TrackedRound& round, std::vector<std::vector<ReportedFix>> fixes) {
  for (std::size_t s = 0; s < fixes.size(); ++s)
    round.all[round.of_site[s]].finding.fixes = std::move(fixes[s]);
}

}  // namespace

std::vector<Prediction> predict(const Model& model, const std::vector<const Target*>& targets) {
  std::vector<Prediction> predictions;
  for (const Target* target : targets)
    predictions.push_back(target->has_table() ? target->predict(model) : Prediction{});
  return predictions;
}

RoundsResult run_rounds(const RoundInput& input, const std::vector<Rule>& book) {
  const DiagnoseOptions& options = input.options;
  const bool assumed = std::any_of(input.targets.begin(), input.targets.end(),
                                   [](const Target* target) { return target->assumed; });
  RoundsResult result;
  result.after = input.predictions;
  ProofMemo proofs;
  for (;; ++result.last) {
    const Model& model = result.edited ? *result.edited : input.model;
    const RoundResult found =
        run_round({model, input.targets, result.after, input.evidence, input.rules, options});
    if (result.last == 1) result.ruled_out = rules_not_there(found);
    TrackedRound round = track(std::move(result.tracked), found.sites, model, result.last, assumed);
    std::optional<Model> mended;
    if (!options.apply) {
      keep_fixes(round, candidates(model, found.sites, options));
    } else if (result.last <= options.max_rounds) {
      FixingResult fixing = mend({model, found.sites, input.targets, options, proofs, book, input.rules});
      keep_fixes(round, std::move(fixing.fixes));
      mended = std::move(fixing.model);
    }
    result.tracked = std::move(round.all);
    if (!mended) return result;
    result.edited = std::move(mended);
    result.after = predict(*result.edited, input.targets);
  }
}

}  // namespace md
