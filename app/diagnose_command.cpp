// check, fix and log: options become a request for each model, lib/fix does the work, one report is printed.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "app/commands.h"
#include "app/graph_diff.h"
#include "app/inputs.h"
#include "app/publish.h"
#include "app/repeat.h"
#include "app/terminal.h"
#include "lib/fix/baseline_files.h"
#include "lib/fix/fix.h"

namespace md::app {
namespace {

/// What all models of one run share.
struct Session {
  const Options& options;
  std::string command;
  RuleBook rules;
  std::vector<NamedRange> ranges;
  std::vector<PinnedShape> shapes;
  const BaselineFiles* baseline = nullptr;

  bool fixes() const { return command == "fix"; }
};

Result<std::optional<Severity>> parse_fail_on(const std::string& said) {
  if (said == "never") return std::optional<Severity>();
  if (const auto severity = from_word<Severity>(said)) return severity;
  return usage_error(fmt::format("--fail-on {}: expected fatal, silent, perf, note or never", said));
}

/// `options`: those that hold for one model. Its `fail_on` is known to be a word that parses.
DiagnoseOptions diagnose_options(const Options& options) {
  DiagnoseOptions to;
  to.unsafe_fixes = options.unsafe_fixes, to.exact_only = options.exact_only;
  to.require_proof = options.require_proof, to.thorough = options.thorough;
  to.max_error = options.max_error, to.samples = options.samples, to.seed = options.seed;
  to.select = options.select, to.ignore = options.ignore, to.symptoms = options.symptoms;
  to.fail_on = parse_fail_on(options.fail_on).value_or(to.fail_on);
  return to;
}

FixRequest request_for(const Session& session, FixSource source) {
  const Options options =
      source.has_model() ? options_for(session.options, source.path) : Options(session.options);
  FixRequest request;
  request.source = std::move(source);
  request.companion_logs = !options.no_auto_log;
  request.rules = &session.rules;
  request.targets = options.targets;
  request.options = diagnose_options(options);
  request.input_files = options.inputs;
  request.ranges = session.ranges, request.shapes = session.shapes, request.cuts = options.cuts;
  request.output = {.path = options.output,
                    .in_place = options.in_place,
                    .force = options.force,
                    .dry_run = options.dry_run};
  request.accepting = session.baseline->accepting();
  request.hash = options.hash;
  request.command = session.command;
  request.repeated_options = repeated_options(options);
  return request;
}

/// A run as it is printed, with what its baseline needs of it.
struct Ran {
  ModelRun printed;
  std::optional<Severity> fail_on;
  BaselineUse baseline;
  std::optional<Error> error;  ///< why there is no outcome
};

Ran run_model(const Session& session, const FixSource& source) {
  const FixRequest request = request_for(session, source);
  Ran ran{.printed = {}, .fail_on = request.options.fail_on, .baseline = {}, .error = {}};
  auto outcome = session.fixes() ? fix(request) : check(request);
  if (!outcome) {
    ran.printed.diagnosis = failed_run(request, outcome.error());
    ran.error = outcome.error();
    return ran;
  }
  if (session.options.show_diff && outcome->edited)
    ran.printed.diff =
        graph_diff_text(outcome->document->model(), *outcome->edited, source.path, outcome->plan.model_path);
  ran.printed.diagnosis = std::move(outcome->diagnosis);
  ran.baseline = std::move(outcome->baseline);
  return ran;
}

/// Every model, several at a time, in the order of the command line.
std::vector<Ran> run_models(const Session& session, const std::vector<FixSource>& models) {
  std::vector<Ran> runs(models.size());
  const unsigned wanted = session.options.jobs > 0 ? static_cast<unsigned>(session.options.jobs)
                                                   : std::max(1U, std::thread::hardware_concurrency());
  const std::size_t workers = std::min<std::size_t>(wanted, models.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < models.size(); i = next++) runs[i] = run_model(session, models[i]);
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
  if (auto status = add_logs(models, options.logs, !options.no_auto_log, files); !status) return status;
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

/// All runs of the session, with the baselines' last words. Errors: of a run without a model, whose file no
/// report could name, or of a baseline.
Result<std::vector<ModelRun>> run_sources(const Session& session, const std::vector<FixSource>& sources,
                                          BaselineFiles& baseline) {
  std::vector<Ran> runs = run_models(session, sources);
  if (!sources.front().has_model() && runs.front().error) return tl::make_unexpected(*runs.front().error);
  std::vector<JudgedRun> judged;
  for (Ran& run : runs)
    judged.push_back({.diagnosis = &run.printed.diagnosis, .fail_on = run.fail_on, .use = run.baseline});
  auto said = baseline.finish(judged);
  if (!said) return tl::make_unexpected(said.error());
  for (const std::string& line : *said) print_note(line);
  std::vector<ModelRun> printed;
  for (Ran& run : runs) printed.push_back(std::move(run.printed));
  return printed;
}

int run_session(const Options& options, const std::string& command,
                const std::vector<std::string>& model_paths) {
  auto format = parse_report_format(options.output_format);
  if (!format) return report(format.error());
  auto files = parse_reports(options.reports, *format);
  if (!files) return report(files.error());
  if (auto fail_on = parse_fail_on(options.fail_on); !fail_on) return report(fail_on.error());
  auto ranges = parse_ranges(options.ranges);
  if (!ranges) return report(ranges.error());
  auto shapes = parse_shapes(options.shapes);
  if (!shapes) return report(shapes.error());
  auto models = expand_models(model_paths);
  if (!models) return report(models.error());
  if (!options.output.empty() && models->size() > 1)
    return report({Error::Kind::usage, "-o names one file, but there are several models"});
  if (auto status = check_files(options, command, *models, *files); !status) return report(status.error());
  auto rules = load_rules(options);
  if (!rules) return report(rules.error());
  auto sources = read_sources(*models, options.logs, options.names);
  if (!sources) return report(sources.error());
  auto baseline = BaselineFiles::open({.accepted = options.baseline,
                                       .written = options.write_baseline,
                                       .strict = options.strict_baseline,
                                       .prune = options.prune_baseline},
                                      *rules, diagnose_options(options));
  if (!baseline) return report(baseline.error());
  const Session session{.options = options,
                        .command = command,
                        .rules = std::move(*rules),
                        .ranges = std::move(*ranges),
                        .shapes = std::move(*shapes),
                        .baseline = &*baseline};
  auto runs = run_sources(session, *sources, *baseline);
  if (!runs) return report(runs.error());
  return publish(options, *format, *files, *runs);
}

}  // namespace

int run_check(const Options& options) {
  if (options.models.empty())
    return report({Error::Kind::usage, "check needs a model file; `modeldoctor log FILE` reads a log alone"});
  return run_session(options, "check", options.models);
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
  return run_session(options, "fix", options.models);
}

int run_log(const Options& options) {
  if (std::any_of(options.logs.begin(), options.logs.end(), is_folder)) return run_log_survey(options);
  return run_session(options, "log", {});
}

}  // namespace md::app
