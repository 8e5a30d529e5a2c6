#include "lib/fix/fix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <new>

#include "lib/base/sha256.h"
#include "lib/base/stream.h"
#include "lib/edit/cut.h"
#include "lib/eval/pin_shapes.h"
#include "lib/fix/write.h"
#include "lib/log/companions.h"

namespace md {
namespace {

/// The error with the file in front, unless it names that already.
tl::unexpected<Error> about(const std::string& path, Error error) {
  if (!path.empty() && error.message.find(path) == std::string::npos)
    error.message = fmt::format("{}: {}", path, error.message);
  return tl::make_unexpected(std::move(error));
}

Result<std::shared_ptr<const Document>> open_source(const FixSource& source) {
  if (source.document) return source.document;
  auto file = open_input(source.path);
  if (!file) return tl::make_unexpected(file.error());
  auto document = open_document(std::move(*file));
  if (!document) return tl::make_unexpected(document.error());
  return std::shared_ptr<const Document>(std::move(*document));
}

Result<OutputPlan> planned_output(const FixSource& source, const OutputWish& wish) {
  const bool nameless = source.path.empty() || source.path == "-";
  if (nameless && wish.path.empty() && !wish.dry_run)
    return usage_error("a model from standard input needs -o OUT");
  return plan_output(source.path, wish.path, wish.in_place);
}

/// What the diagnosis starts with when it is not the file's own graph.
Result<std::optional<Model>> prepare_model(const Model& model, const FixRequest& request) {
  std::optional<Model> start;
  if (!request.shapes.empty()) {
    std::map<std::string, Shape> shapes;
    for (const PinnedShape& pinned : request.shapes) shapes[pinned.input] = pinned.shape;
    auto pinned = pin_shapes(model, shapes);
    if (!pinned) return tl::make_unexpected(pinned.error());
    start = std::move(*pinned);
  }
  if (!request.cuts.empty()) {
    auto shortened = cut_before(start ? *start : model, request.cuts);
    if (!shortened) return tl::make_unexpected(shortened.error());
    start = std::move(*shortened);
  }
  return start;
}

Result<HeadroomOptions> known_values(const FixRequest& request, const Model& model) {
  HeadroomOptions values = request.options.values;
  values.seed = request.options.seed;
  auto ranges = ranges_of_inputs(model, request.ranges);
  if (!ranges) return tl::make_unexpected(ranges.error());
  values.ranges.merge(*ranges);
  if (request.input_files.empty()) return values;
  auto inputs = load_inputs(model, request.input_files);
  if (!inputs) return tl::make_unexpected(inputs.error());
  values.inputs.insert(values.inputs.end(), std::make_move_iterator(inputs->begin()),
                       std::make_move_iterator(inputs->end()));
  return values;
}

DiagnoseRequest diagnose_request(const FixRequest& request, bool apply) {
  DiagnoseRequest to;
  to.model_path = request.source.path;
  to.model_name = request.source.name;
  to.logs = request.source.logs;
  to.targets = request.targets;
  to.rules = request.rules;
  to.options = request.options;
  to.options.apply = apply;
  to.command = !request.command.empty() ? request.command : apply ? "fix" : "check";
  to.dry_run = apply && request.output.dry_run;
  to.repeated_options = request.repeated_options;
  return to;
}

std::string shape_words(const PinnedShape& pinned) {
  return fmt::format("{}={}", pinned.input, fmt::join(pinned.shape, ","));
}

void add_notes(const FixRequest& request, std::vector<std::string>& notes) {
  std::vector<std::string> shapes;
  for (const PinnedShape& pinned : request.shapes) shapes.push_back(shape_words(pinned));
  if (!shapes.empty())
    notes.push_back(
        fmt::format("for the input sizes {}: every shape behind them is fixed", fmt::join(shapes, " ")));
  if (!request.cuts.empty())
    notes.push_back(fmt::format("cut before {}: that is an output now, what lay behind it is gone",
                                fmt::join(request.cuts, ", ")));
}

/// Notes of the baseline's entries and what it accepts; the run is settled anew.
BaselineUse accept(const Accepting& accepting, const DiagnoseOptions& options, Diagnosis& run) {
  if (!accepting.baseline) return {};
  BaselineUse use = accepting.baseline->apply(run, accepting.today, accepting.left_out);
  settle(run, options.fail_on);
  if (accepting.strict && run.error_code.empty() && run.exit_code == 0 &&
      (!use.stale.empty() || !use.expired.empty())) {
    run.exit_code = 1;
    run.status = RunStatus::findings;
    run.notes.push_back("--strict-baseline: a stale or expired entry fails the run");
  }
  return use;
}

/// Without a model: what the logs alone say.
Result<FixOutcome> advise(const FixRequest& request, bool apply) {
  auto found = diagnose(diagnose_request(request, apply));
  if (!found) return tl::make_unexpected(found.error());
  FixOutcome outcome;
  outcome.diagnosis = std::move(found->diagnosis);
  outcome.baseline = accept(request.accepting, request.options, outcome.diagnosis);
  return outcome;
}

/// Everything up to the writing; `values`: what is known of the inputs, for the comparison of the whole.
Status examine(const FixRequest& request, bool apply, FixOutcome& outcome, HeadroomOptions& values) {
  const Document& document = *outcome.document;
  const Model& model = document.model();
  auto start = prepare_model(model, request);
  if (!start) return tl::make_unexpected(start.error());
  outcome.start = std::move(*start);
  DiagnoseRequest to = diagnose_request(request, apply);
  std::vector<std::string> log_notes;
  if (request.companion_logs && to.logs.empty()) {
    CompanionLogs companions = companion_logs(request.source.path, request.targets);
    to.logs = std::move(companions.logs);
    log_notes = std::move(companions.notes);
  }
  to.document = &document;
  to.start = outcome.start ? &*outcome.start : nullptr;
  auto known = known_values(request, model);
  if (!known) return tl::make_unexpected(known.error());
  to.options.values = values = std::move(*known);
  const WriteCapability capability = document.capability();
  if (!capability.can_write) to.options.apply = false;
  auto found = diagnose(to);
  if (!found) return tl::make_unexpected(found.error());
  outcome.diagnosis = std::move(found->diagnosis);
  outcome.edited = std::move(found->edited);
  if (outcome.start && !outcome.edited) outcome.edited = outcome.start;
  std::vector<std::string>& notes = outcome.diagnosis.notes;
  notes.insert(notes.begin(), log_notes.begin(), log_notes.end());
  add_notes(request, notes);
  if (apply && !capability.can_write) notes.push_back("this file cannot be rewritten: " + capability.reason);
  if (request.hash && outcome.diagnosis.model)
    outcome.diagnosis.model->sha256 = sha256(document.file().bytes());
  outcome.baseline = accept(request.accepting, request.options, outcome.diagnosis);
  return {};
}

Result<FixOutcome> run(const FixRequest& request, bool apply) {
  const std::string& path = request.source.path;
  if (!request.source.has_model()) return advise(request, apply);
  FixOutcome outcome;
  if (apply) {
    auto plan = planned_output(request.source, request.output);
    if (!plan) return about(path, plan.error());
    outcome.plan = std::move(*plan);
  }
  auto document = open_source(request.source);
  if (!document) return about(path, document.error());
  outcome.document = std::move(*document);
  if (apply && !request.output.dry_run)
    if (auto status = check_output(outcome.plan, request.output.force); !status)
      return about(outcome.plan.model_path, status.error());
  HeadroomOptions values;
  if (auto status = examine(request, apply, outcome, values); !status) return about(path, status.error());
  if (apply)
    write_outputs(outcome, {.values = values,
                            .max_error = request.options.max_error,
                            .require_comparison = request.options.require_proof,
                            .dry_run = request.output.dry_run});
  return outcome;
}

/// An exception that left a thread would end the program without a word.
Result<FixOutcome> run_safely(const FixRequest& request, bool apply) {
  const std::string& path = request.source.path;
  try {
    return run(request, apply);
  } catch (const std::bad_alloc&) {
    return fail(Error::Kind::unsupported, path + ": not enough memory for this file");
  } catch (const std::exception& error) {
    return fail(Error::Kind::internal, fmt::format("{}: internal error: {}", path, error.what()));
  }
}

const char* code_of(const Error& error) {
  switch (error.kind) {
    case Error::Kind::usage:
      return "usage";
    case Error::Kind::check:
      return "check";
    case Error::Kind::internal:
      return "internal";
    case Error::Kind::unsupported:
      return "unsupported";
    case Error::Kind::input:
      break;
  }
  return "input";
}

}  // namespace

Result<FixOutcome> fix(const FixRequest& request) { return run_safely(request, true); }
Result<FixOutcome> check(const FixRequest& request) { return run_safely(request, false); }

Diagnosis failed_run(const FixRequest& request, const Error& error) {
  Diagnosis diagnosis;
  diagnosis.command = request.command.empty() ? "fix" : request.command;
  if (request.rules) diagnosis.rules_version = request.rules->version();
  fail_run(diagnosis, exit_code(error), code_of(error), error.message);
  diagnosis.model =
      ReportedModel{.path = request.source.path, .format = "", .sha256 = "", .bytes = 0, .nodes = 0};
  return diagnosis;
}

int exit_code(const Error& error) {
  switch (error.kind) {
    case Error::Kind::check:
      return 3;
    case Error::Kind::internal:
      return 4;
    case Error::Kind::usage:
    case Error::Kind::input:
    case Error::Kind::unsupported:
      break;
  }
  return 2;
}

}  // namespace md
