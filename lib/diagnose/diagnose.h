// The engine: log and model in, findings, fixes and (when asked) a rewritten model out.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/diagnose/diagnosis.h"
#include "lib/fp16/headroom.h"
#include "lib/graph/document.h"
#include "lib/log/log.h"
#include "lib/rule/page/rule.h"

namespace md {

struct DiagnoseOptions {
  bool apply = false;  ///< rewrite what can be proven; otherwise fixes are listed as candidates only
  bool unsafe_fixes = false, exact_only = false, require_proof = false, thorough = false;
  double max_error = 1e-3;  ///< for fixes with a stated error, relative to the largest |output|
  int samples = 24;
  std::uint64_t seed = 1;
  std::vector<std::string> select, ignore;  ///< rule ids, id prefixes, names or aliases; empty select: all
  std::vector<std::string> symptoms;        ///< zeros | nan | wrong | first-token-right | degrades | state
  HeadroomOptions values;                   ///< what is known of the inputs' values: --inputs, --range
  std::optional<Severity> fail_on = Severity::silent;  ///< nullopt: never
  int max_rounds = 8;
};

struct DiagnoseRequest {
  const Document* document = nullptr;  ///< null: advice from the logs alone
  std::string model_path;              ///< as the user named it
  std::string model_name;  ///< what fingerprints call the model; empty: its path from the working folder
  const Model* start =
      nullptr;  ///< a copy that was changed on request before (cut short); null: the document's model
  std::vector<Log> logs;
  std::vector<std::string>
      targets;  ///< as given by --target; empty: from the logs, else the format's default
  const RuleBook* rules = nullptr;
  DiagnoseOptions options;
  std::string command = "check";
  bool dry_run = false;  ///< nothing will be written: reports say "would be"
  /// Options as the user gave them, for the command that the report proposes next (`--symptom`, `zeros`,
  /// ...).
  std::vector<std::string> repeated_options;
};

struct DiagnoseOutcome {
  Diagnosis diagnosis;
  std::optional<Model> edited;  ///< set when at least one fix was applied
  bool changed() const { return edited.has_value(); }
};

/// Errors: a target that is not known (usage). Everything else is in the diagnosis.
Result<DiagnoseOutcome> diagnose(const DiagnoseRequest& request);

}  // namespace md
