// The chain: targets, rules, evidence, rounds, causes, what is left, the verdict. Each link is a function on
// values with a header and a test of its own; here they only meet.
#include "lib/diagnose/diagnose.h"

#include "lib/diagnose/fingerprint.h"
#include "lib/diagnose/foreign_log.h"
#include "lib/diagnose/records.h"
#include "lib/diagnose/remarks.h"
#include "lib/diagnose/rounds.h"
#include "lib/diagnose/selection.h"
#include "lib/diagnose/targets.h"
#include "lib/diagnose/unexplained.h"
#include "lib/diagnose/verdict.h"

namespace md {
namespace {

void append(std::vector<std::string>& notes, std::vector<std::string> more) {
  for (std::string& note : more)
    if (!note.empty()) notes.push_back(std::move(note));
}

/// What is known before anything was looked for.
Diagnosis opened(const DiagnoseRequest& request, const ResolvedTargets& resolved,
                 const std::vector<const Target*>& targets, const std::vector<LogEvidence>& evidence) {
  Diagnosis diagnosis;
  diagnosis.command = request.command;
  diagnosis.stated_name = request.model_name;
  diagnosis.dry_run = request.dry_run;
  diagnosis.options = request.repeated_options;
  diagnosis.rules_version = request.rules->version();
  diagnosis.notes = resolved.notes;
  diagnosis.targets = reported_targets(targets);
  for (const Log& log : request.logs) {
    diagnosis.log_paths.push_back(log.path);
    append(diagnosis.notes, log.notes);
  }
  diagnosis.log = reported_records(evidence);
  if (request.document) diagnosis.model = reported_model(*request.document, request.model_path);
  return diagnosis;
}

/// What the model is diagnosed with.
struct Question {
  const DiagnoseRequest& request;
  const std::vector<const Target*>& targets;
  const std::vector<const Rule*>& rules;
  const RuleIndex& index;
};

/// The model's part of the diagnosis; gives what was tracked.
std::vector<Tracked> examine(const Question& question, std::vector<LogEvidence>& evidence,
                             DiagnoseOutcome& outcome) {
  const DiagnoseOptions& options = question.request.options;
  Diagnosis& diagnosis = outcome.diagnosis;
  const Model& input = question.request.start ? *question.request.start : question.request.document->model();
  const std::vector<Prediction> before = predict(input, question.targets);
  if (!question.targets.empty() && question.targets.front()->has_table()) {
    diagnosis.prediction = reported_prediction(before.front(), input);
    append(diagnosis.notes, {fallback_note(*question.targets.front(), before.front())});
  }
  PlacedEvidence placed = place_evidence(std::move(evidence), input, before);
  evidence = std::move(placed.evidence);
  append(diagnosis.notes, std::move(placed.notes));

  RoundsResult rounds = run_rounds({input, question.targets, before, evidence, question.rules, options},
                                   question.request.rules->rules());
  const Model& now = rounds.edited ? *rounds.edited : input;
  diagnosis.ruled_out = std::move(rounds.ruled_out);
  if (diagnosis.prediction && rounds.edited)
    diagnosis.prediction->after_verdict = rounds.after.front().verdict;
  append(diagnosis.notes, fp16_remarks(rounds.tracked, input, now, options.values));
  append(diagnosis.notes, {hybrid_remark(question.targets, now, options.values)});
  if (rounds.edited) diagnosis.recipe = recipe_of(rounds.tracked, now);
  std::vector<Tracked> tracked = with_causes(with_mended(std::move(rounds.tracked), rounds.last));
  tracked = with_adopted_records(std::move(tracked), evidence, rounds.after, now);
  diagnosis.unexplained_predictions =
      unexplained_predictions(rounds.after, tracked, question.index, question.rules);
  outcome.edited = std::move(rounds.edited);
  return tracked;
}

/// Order, counts and status; the last link.
void conclude(const DiagnoseRequest& request, std::vector<Tracked> tracked,
              const std::vector<LogEvidence>& evidence, Diagnosis& diagnosis) {
  diagnosis.findings = ordered_findings(std::move(tracked));
  set_fingerprints(diagnosis);
  diagnosis.before = count_found(diagnosis.findings,
                                 diagnosis.unexplained.size() + diagnosis.unexplained_predictions.size());
  if (!request.logs.empty() && !shows_failure(evidence))
    diagnosis.notes.push_back("the log shows no failure");
  settle(diagnosis, request.options.fail_on);
}

}  // namespace

Result<DiagnoseOutcome> diagnose(const DiagnoseRequest& request) {
  auto resolved = resolve_targets(request);
  if (!resolved) return tl::make_unexpected(resolved.error());
  const RuleIndex index(*request.rules);
  const std::vector<const Rule*> rules =
      choose_rules(*request.rules, request.options.select, request.options.ignore);
  std::vector<LogEvidence> evidence = gather_evidence(request.logs, index);
  *resolved = with_fitting_versions(std::move(*resolved), evidence);
  *resolved = with_inferred_target(std::move(*resolved), evidence, request);
  std::vector<const Target*> targets;
  for (const auto& target : resolved->targets) targets.push_back(target.get());

  DiagnoseOutcome outcome;
  Diagnosis& diagnosis = outcome.diagnosis;
  diagnosis = opened(request, *resolved, targets, evidence);
  std::vector<Tracked> tracked;
  if (request.document) tracked = examine({request, targets, rules, index}, evidence, outcome);
  const Model* model = request.document ? &request.document->model() : nullptr;
  ExplainedLog explained = explain_log(std::move(tracked), evidence, rules, model);
  diagnosis.unexplained = std::move(explained.unexplained);
  diagnosis.unexplained_predictions =
      not_in_log(std::move(diagnosis.unexplained_predictions), diagnosis.unexplained, evidence);
  conclude(request, std::move(explained.tracked), evidence, diagnosis);
  return outcome;
}

}  // namespace md
