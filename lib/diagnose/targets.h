// Which runtime and version the model is diagnosed for.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/diagnose/diagnose.h"
#include "lib/diagnose/evidence.h"
#include "lib/target/target.h"

namespace md {

struct ResolvedTargets {
  std::vector<std::unique_ptr<Target>>
      targets;                     ///< may be empty: every backend's rules run, capped at `note`
  std::vector<std::string> notes;  ///< what was assumed, and where the flag and the log disagree
};

/// The flags, else the logs' own marks, else every table whose prediction fits the log (the newest, assumed),
/// else the format's default. Errors: an unknown target name (usage).
Result<ResolvedTargets> resolve_targets(const DiagnoseRequest& request);

/// A target inferred from the rules that the log names, for formats whose logs do not name the backend:
/// "executorch-coreml" when that is the first backend that a hit rule is about. nullptr when they name none.
std::unique_ptr<Target> target_from_rules(const std::vector<const Rule*>& hit, const std::vector<Log>& logs);

/// An assumed version that cannot have printed what the log says is no good assumption: where a rule that the
/// log names is about versions of `target` and `target`'s is none of them, the newest measured one that is.
/// nullptr: the target stays.
std::unique_ptr<Target> refit_assumed(const Target& target, const std::vector<const Rule*>& hit);
/// `resolved`, with the versions of assumed targets that the evidence fits (refit_assumed), and what was said
/// of them.
ResolvedTargets with_fitting_versions(ResolvedTargets resolved, const std::vector<LogEvidence>& evidence);

/// `resolved`; where it names no target, that of the rules which the evidence names, or a note that there is
/// none.
ResolvedTargets with_inferred_target(ResolvedTargets resolved, const std::vector<LogEvidence>& evidence,
                                     const DiagnoseRequest& request);

/// True when the rule's fault exists on the target. A backend shares its family's rules ("executorch-xnnpack"
/// those of "executorch"), and "litert-gpu+cpu" has those of "litert-gpu".
bool rule_concerns(const Rule& rule, const Target& target);

}  // namespace md
