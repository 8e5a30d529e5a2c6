// One round of looking: every rule that can be triggered is run over every graph of the model as it is now.
#pragma once
#include <string>
#include <vector>

#include "lib/diagnose/diagnose.h"
#include "lib/diagnose/evidence.h"
#include "lib/target/target.h"

namespace md {

/// A fault at a place, with what made the rule speak.
struct FoundSite {
  const Rule* rule = nullptr;
  int graph = 0;
  DetectResult result;
  Severity severity = Severity::fatal;  ///< by consequence on the worst of the targets
  std::string target;                   ///< the backend it concerns when no target was given
  bool by_log = false, by_prediction = false;
  std::vector<int> evidence;  ///< indices of the log records that belong to it
  Attribution attribution = Attribution::none;
  NodeId root() const { return result.nodes.empty() ? none_id : result.nodes.front(); }
};

struct RoundInput {
  const Model& model;
  const std::vector<const Target*>& targets;
  const std::vector<Prediction>& predictions;  ///< parallel to targets
  const std::vector<LogEvidence>& evidence;
  const std::vector<const Rule*>& rules;  ///< already chosen by --select and --ignore
  const DiagnoseOptions& options;
};

struct RoundResult {
  std::vector<FoundSite> sites;               ///< root causes first
  std::vector<const Rule*> silent_rules_run;  ///< rules without a log line that were looked for
};

RoundResult run_round(const RoundInput& input);

/// True when a predicted record carries one of the rule's signatures.
bool explains(const Rule& rule, std::string_view text);

}  // namespace md
