// What the logs and the targets say and no finding explains.
#pragma once
#include <string>
#include <vector>

#include "lib/diagnose/evidence.h"
#include "lib/diagnose/tracking.h"

namespace md {

struct ExplainedLog {
  std::vector<Tracked> tracked;  ///< with advice for what a rule's page knows
  std::vector<int> unexplained;  ///< indices of the evidence
};

/// Failing records that no site explains: advice from the rule's page where a signature hits, else
/// unexplained. `model`: null for a log alone. `chosen`: rules that were not left out.
ExplainedLog explain_log(std::vector<Tracked> tracked, const std::vector<LogEvidence>& evidence,
                         const std::vector<const Rule*>& chosen, const Model* model);

/// Texts that the targets would print at nodes of no open finding, sorted, each once. `predictions`: of the
/// model as it is at the end.
std::vector<std::string> unexplained_predictions(const std::vector<Prediction>& predictions,
                                                 const std::vector<Tracked>& tracked, const RuleIndex& index,
                                                 const std::vector<const Rule*>& chosen);

/// What the log says and nothing explains is predicted as well: once is enough.
std::vector<std::string> not_in_log(std::vector<std::string> predictions, const std::vector<int>& unexplained,
                                    const std::vector<LogEvidence>& evidence);

}  // namespace md
