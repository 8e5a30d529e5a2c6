// check, fix and log: run the engine over the inputs, write what was asked for, print one report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <map>
#include <new>
#include <thread>

#include "app/baseline.h"
#include "app/commands.h"
#include "app/compare.h"
#include "app/graph_diff.h"
#include "app/inputs.h"
#include "app/publish.h"
#include "app/repeat.h"
#include "app/subjects.h"
#include "app/terminal.h"
#include "lib/base/sha256.h"
#include "lib/diagnose/diagnose.h"
#include "lib/diagnose/ending.h"
#include "lib/diagnose/output.h"
#include "lib/edit/changes.h"
#include "lib/edit/cut.h"
#include "lib/eval/pin_shapes.h"
#include "lib/report/report.h"
#include "lib/verify/verify.h"

namespace md::app {
namespace {

/// What all models of one run share.
struct Session {
  const Options& options;
  std::string command;
  bool apply = false;
  RuleBook rules;
  std::optional<Severity> fail_on;
  BaselineFiles& baseline;
};

Result<std::optional<Severity>> parse_fail_on(const std::string& word) {
  if (word == "never") return std::optional<Severity>();
  for (const Severity severity : {Severity::note, Severity::perf, Severity::silent, Severity::fatal})
    if (name(severity) == word) return std::optional<Severity>(severity);
  return usage_error(fmt::format("--fail-on {}: expected fatal, silent, perf, note or never", word));
}

Diagnosis failed(const Session& session, const std::string& path, const Error& error) {
  Diagnosis diagnosis;
  diagnosis.command = session.command;
  diagnosis.rules_version = session.rules.version();
  const bool names_it = path.empty() || error.message.find(path) != std::string::npos;
  const char* code = error.kind == Error::Kind::usage         ? "usage"
                     : error.kind == Error::Kind::check       ? "check"
                     : error.kind == Error::Kind::internal    ? "internal"
                     : error.kind == Error::Kind::unsupported ? "unsupported"
                                                              : "input";
  fail_run(diagnosis, exit_code(error), code, names_it ? error.message : path + ": " + error.message);
  diagnosis.model = ReportedModel{.path = path, .format = "", .sha256 = "", .bytes = 0, .nodes = 0};
  return diagnosis;
}

/// The error is about an output; its message names that.
Diagnosis failed_output(const Session& session, const std::string& path, const std::string& output,
                        const Error& error) {
  Diagnosis diagnosis = failed(session, output, error);
  diagnosis.model->path = path;
  return diagnosis;
}

/// `options`: those that hold for this model.
DiagnoseRequest request_for(const Session& session, const Options& options, const Document* document,
                            const Subject& subject) {
  DiagnoseRequest request;
  request.document = document;
  request.model_path = subject.path;
  request.model_name = subject.name;
  request.logs = subject.logs;
  request.targets = options.targets;
  request.rules = &session.rules;
  request.command = session.command;
  request.dry_run = session.apply && options.dry_run;
  request.repeated_options = repeated_options(options);
  DiagnoseOptions& to = request.options;
  to.apply = session.apply;
  to.unsafe_fixes = options.unsafe_fixes, to.exact_only = options.exact_only,
  to.require_proof = options.require_proof;
  to.thorough = options.thorough;
  to.max_error = options.max_error, to.samples = options.samples, to.seed = options.seed;
  to.select = options.select, to.ignore = options.ignore, to.symptoms = options.symptoms;
  to.fail_on = parse_fail_on(options.fail_on).value_or(session.fail_on);
  return request;
}

/// The file that was written holds exactly the edited graph.
Status accept_written(const Model& edited, const Document& written) {
  if (const auto difference = same_structure(edited, written.model()))
    return fail(Error::Kind::check, "the written file differs from what was meant: " + *difference);
  return {};
}

/// Writes the model (when there is something to write) and the diagnosis beside it, both or none. `start`:
/// what the fixes began with.
void write_outputs(const Session& session, const Document& document, const Model& start,
                   const HeadroomOptions& values, const OutputPlan& plan, const std::optional<Model>& edited,
                   Diagnosis& diagnosis) {
  if (session.options.dry_run) {
    if (edited)
      if (auto status = compare_whole(start, *edited, session.options.max_error, values, diagnosis); !status)
        fail_run(diagnosis, exit_code(status.error()), "check", status.error().message);
    if (session.options.require_proof) require_comparison(diagnosis);
    return;
  }
  const bool write = edited.has_value() || (plan.named && !plan.in_place);
  const auto failed_to_write = [&](const Error& error, std::string_view rest) {
    fail_run(diagnosis, exit_code(error), error.kind == Error::Kind::check ? "check" : "write",
             fmt::format("{}{}", error.message, rest));
  };
  constexpr std::string_view nothing = "; nothing was written";
  StagedFiles files;
  if (write) {
    const Model& model = edited ? *edited : document.model();
    auto output = files.add_model(document, model, plan.model_path, [&](const Document& written) -> Status {
      if (auto status = accept_written(model, written); !status || !edited) return status;
      return compare_whole(start, written.model(), session.options.max_error, values, diagnosis);
    });
    const bool refuted = !output && output.error().kind == Error::Kind::check;
    if (output)
      diagnosis.output = std::move(*output);
    else
      failed_to_write(output.error(), refuted ? "" : nothing);
    if (session.options.require_proof) require_comparison(diagnosis);
    // Where the model could not be written, the diagnosis cannot either, and its error would hide the first.
    if (!output && !refuted) return;
  }
  if (!write && diagnosis.findings.empty() && diagnosis.unexplained.empty() &&
      diagnosis.unexplained_predictions.empty())
    return;
  auto staged = files.add_text(plan.diagnosis_path, render(std::span(&diagnosis, 1), ReportFormat::json));
  if (!staged)
    failed_to_write(staged.error(), nothing);
  else if (auto status = files.commit(); !status)
    failed_to_write(status.error(), "");
  if (!files.committed_any()) diagnosis.output.reset();
}

/// NAME=1,1280 or NAME=1x1280, by name.
Result<std::map<std::string, Shape>> parse_shapes(const std::vector<std::string>& wishes) {
  std::map<std::string, Shape> shapes;
  for (const std::string& wish : wishes) {
    const auto misread = [&] { return usage_error(fmt::format("--shape {}: expected NAME=1,1280", wish)); };
    const std::size_t equals = wish.rfind('=');
    if (equals == std::string::npos || equals == 0) return misread();
    Shape& shape = shapes[wish.substr(0, equals)];
    shape.clear();
    const char* at = wish.data() + equals + 1;
    const char* const end = wish.data() + wish.size();
    do {
      std::int32_t size = 0;
      const auto [rest, failure] = std::from_chars(at, end, size);
      if (failure != std::errc() || (rest != end && *rest != ',' && *rest != 'x')) return misread();
      shape.push_back(size);
      at = rest == end ? end : rest + 1;
      if (rest != end && at == end) return misread();
    } while (at != end);
  }
  return shapes;
}

/// What the diagnosis starts with when it is not the file's own graph: shapes pinned, then cut short.
Result<std::optional<Model>> prepare_model(const Model& model, const Options& options) {
  std::optional<Model> start;
  if (!options.shapes.empty()) {
    auto shapes = parse_shapes(options.shapes);
    if (!shapes) return tl::make_unexpected(shapes.error());
    auto pinned = pin_shapes(model, *shapes);
    if (!pinned) return tl::make_unexpected(pinned.error());
    start = std::move(*pinned);
  }
  if (!options.cuts.empty()) {
    auto shortened = cut_before(start ? *start : model, options.cuts);
    if (!shortened) return tl::make_unexpected(shortened.error());
    start = std::move(*shortened);
  }
  return start;
}

Result<HeadroomOptions> known_values(const Options& options, const Model& model) {
  HeadroomOptions values;
  values.seed = options.seed;
  auto ranges = parse_ranges(model, options.ranges);
  if (!ranges) return tl::make_unexpected(ranges.error());
  values.ranges = std::move(*ranges);
  if (options.inputs.empty()) return values;
  auto inputs = load_inputs(model, options.inputs);
  if (!inputs) return tl::make_unexpected(inputs.error());
  values.inputs = std::move(*inputs);
  return values;
}

ModelRun run_model(const Session& session, Subject subject) {
  const std::string& path = subject.path;
  const Options options = options_for(session.options, path);
  ModelRun run;
  OutputPlan plan;
  if (session.apply) {
    if (path == "-" && options.output.empty() && !options.dry_run)
      return {failed(session, path, {Error::Kind::usage, "a model from standard input needs -o OUT"}), ""};
    auto planned = plan_output(path, options.output, options.in_place);
    if (!planned) return {failed(session, path, planned.error()), ""};
    plan = std::move(*planned);
  }
  auto file = open_input(path);
  if (!file) return {failed(session, path, file.error()), ""};
  auto document = open_document(*file);
  if (!document) return {failed(session, path, document.error()), ""};
  if (session.apply && !options.dry_run)
    if (auto status = check_output(plan, options.force); !status)
      return {failed_output(session, path, plan.model_path, status.error()), ""};

  auto prepared = prepare_model((*document)->model(), options);
  if (!prepared) return {failed(session, path, prepared.error()), ""};
  const std::optional<Model>& start = *prepared;
  const std::vector<std::string> log_notes = add_companions(options, subject);
  DiagnoseRequest request = request_for(session, options, document->get(), subject);
  request.start = start ? &*start : nullptr;
  auto values = known_values(options, (*document)->model());
  if (!values) return {failed(session, path, values.error()), ""};
  request.options.values = *values;
  const WriteCapability capability = (*document)->capability();
  if (session.apply && !capability.can_write) request.options.apply = false;
  auto outcome = diagnose(request);
  if (!outcome) return {failed(session, path, outcome.error()), ""};
  run.diagnosis = std::move(outcome->diagnosis);
  run.diagnosis.notes.insert(run.diagnosis.notes.begin(), log_notes.begin(), log_notes.end());
  if (!options.shapes.empty())
    run.diagnosis.notes.push_back(fmt::format("for the input sizes {}: every shape behind them is fixed",
                                              fmt::join(options.shapes, " ")));
  if (!options.cuts.empty())
    run.diagnosis.notes.push_back(fmt::format(
        "cut before {}: that is an output now, what lay behind it is gone", fmt::join(options.cuts, ", ")));
  if (start && !outcome->edited) outcome->edited = start;
  if (session.apply && !capability.can_write)
    run.diagnosis.notes.push_back("this file cannot be rewritten: " + capability.reason);
  if (options.hash && run.diagnosis.model) run.diagnosis.model->sha256 = sha256((*file)->bytes());
  session.baseline.apply(run.diagnosis, options.fail_on);
  if (options.show_diff && outcome->edited)
    run.diff = graph_diff_text((*document)->model(), *outcome->edited, path, plan.model_path);
  if (session.apply)
    write_outputs(session, **document, start ? *start : (*document)->model(), *values, plan, outcome->edited,
                  run.diagnosis);
  return run;
}

/// An exception that left a thread would end the program without a word.
ModelRun run_safely(const Session& session, const Subject& subject) {
  const std::string& path = subject.path;
  try {
    return run_model(session, subject);
  } catch (const std::bad_alloc&) {
    return {failed(session, path, {Error::Kind::unsupported, path + ": not enough memory for this file"}),
            ""};
  } catch (const std::exception& error) {
    return {failed(session, path,
                   {Error::Kind::internal, fmt::format("{}: internal error: {}", path, error.what())}),
            ""};
  }
}

/// Every model, several at a time, in the order of the command line.
std::vector<ModelRun> run_models(const Session& session, const std::vector<Subject>& models) {
  std::vector<ModelRun> runs(models.size());
  const unsigned wanted = session.options.jobs > 0 ? static_cast<unsigned>(session.options.jobs)
                                                   : std::max(1U, std::thread::hardware_concurrency());
  const std::size_t workers = std::min<std::size_t>(wanted, models.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < models.size(); i = next++) runs[i] = run_safely(session, models[i]);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return runs;
}

/// Every file of the run against every other, before any of them is read.
Status check_files(const Options& options, const std::string& command, const std::vector<std::string>& models,
                   const std::vector<ReportFile>& reports) {
  RunFiles files;
  add_read_files(options, files);
  if (auto status = add_logs(options, models, files); !status) return status;
  // Updating what was read is what --baseline and --write-baseline of one file mean.
  if (options.write_baseline != options.baseline && !same_file(options.write_baseline, options.baseline))
    files.writes(options.write_baseline, "--write-baseline " + options.write_baseline);
  const bool writes_models = command == "fix" && !options.dry_run;
  for (const std::string& model : models)
    if (!writes_models || !options.in_place) files.reads(model, "the model " + model);
  if (writes_models)
    for (const std::string& model : models) {
      const auto plan = plan_output(model, options.output, options.in_place);
      if (!plan) continue;  // that model's own run says why
      files.writes(plan->model_path, (options.in_place ? "the model " : "the fixed model of ") + model);
      files.writes(plan->diagnosis_path, "the diagnosis of " + model);
    }
  for (const ReportFile& file : reports) files.writes(file.path, "--report " + file.path);
  if (auto status = files.check(); !status) return status;
  for (const ReportFile& file : reports)
    if (auto status = check_report_file(file.path, options.force); !status) return status;
  return {};
}

/// All runs of the session, with the baselines' last words.
Result<std::vector<ModelRun>> run_subjects(const Session& session, const std::vector<Subject>& subjects) {
  std::vector<ModelRun> runs;
  if (!subjects.front().path.empty()) {
    runs = run_models(session, subjects);
  } else {
    auto outcome = diagnose(request_for(session, session.options, nullptr, subjects.front()));
    if (!outcome) return tl::make_unexpected(outcome.error());
    session.baseline.apply(outcome->diagnosis, session.options.fail_on);
    runs.push_back({std::move(outcome->diagnosis), ""});
  }
  std::vector<JudgedRun> judged;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string& path = subjects[i].path;
    const Options& all = session.options;
    judged.push_back({&runs[i].diagnosis, path.empty() ? all.fail_on : options_for(all, path).fail_on});
  }
  if (auto status = session.baseline.finish(judged); !status) return tl::make_unexpected(status.error());
  return runs;
}

int run_session(const Options& options, const std::string& command, bool apply,
                const std::vector<std::string>& model_paths) {
  auto format = parse_report_format(options.output_format);
  if (!format) return report(format.error());
  auto files = parse_reports(options.reports, *format);
  if (!files) return report(files.error());
  auto fail_on = parse_fail_on(options.fail_on);
  if (!fail_on) return report(fail_on.error());
  auto models = expand_models(model_paths);
  if (!models) return report(models.error());
  if (!options.output.empty() && models->size() > 1)
    return report({Error::Kind::usage, "-o names one file, but there are several models"});
  if (auto status = check_files(options, command, *models, *files); !status) return report(status.error());
  auto rules = load_rules(options);
  if (!rules) return report(rules.error());
  auto subjects = read_subjects(options, *models);
  if (!subjects) return report(subjects.error());
  auto baseline = BaselineFiles::open(options, *rules);
  if (!baseline) return report(baseline.error());
  const Session session{options, command, apply, std::move(*rules), *fail_on, *baseline};
  auto runs = run_subjects(session, *subjects);
  if (!runs) return report(runs.error());
  return publish(options, *format, *files, *runs);
}

}  // namespace

int run_check(const Options& options) {
  if (options.models.empty())
    return report({Error::Kind::usage, "check needs a model file; `modeldoctor log FILE` reads a log alone"});
  return run_session(options, "check", false, options.models);
}

int run_fix(const Options& options) {
  if (options.models.empty() && options.logs.empty())
    return report({Error::Kind::usage, "fix needs a model file, a log (--log FILE), or both"});
  if (options.models.empty() && !options.output.empty())
    return report({Error::Kind::usage, "-o needs a model to write; a log alone gives advice"});
  for (const std::string& model : options.models)
    if (is_folder(model))
      return report(
          {Error::Kind::usage,
           fmt::format("{}: is a directory; fix takes model files, check takes folders too", model)});
  return run_session(options, "fix", true, options.models);
}

int run_log(const Options& options) { return run_session(options, "log", false, {}); }

}  // namespace md::app
