#include "app/command_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <limits>

#include "app/validators.h"
#include "lib/report/report.h"

namespace md::app {
namespace {

/// An option that may be repeated; each takes one value, so that a model's name may follow.
CLI::Option* add_list(CLI::App* command, const std::string& name, std::vector<std::string>& values,
                      const std::string& help) {
  return command->add_option(name, values, help)
      ->type_size(1)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// Files named without an option.
CLI::Option* add_files(CLI::App* command, const std::string& name, std::vector<std::string>& values,
                       const std::string& help) {
  return command->add_option(name, values, help);
}

constexpr std::int64_t kMostSamples = 1000000, kLargestSeed = std::numeric_limits<std::int64_t>::max();

/// A list whose values may be separated by commas, too.
CLI::Option* add_names(CLI::App* command, const std::string& name, std::vector<std::string>& values,
                       const std::string& help) {
  return add_list(command, name, values, help)->delimiter(',');
}

void add_screen_options(CLI::App* command, Options& to) {
  command->add_option("--color", to.color, "auto, always or never (NO_COLOR is respected)")
      ->check(one_of({"auto", "always", "never"}));
  command->add_flag("-v,--verbose", to.verbose,
                    "more: every place, every proof, what to change at the source");
  command->add_option("--config", to.config, "read this file instead of the nearest modeldoctor.toml");
  command->add_flag("--no-config", to.no_config, "read no modeldoctor.toml");
}

void add_rule_options(CLI::App* command, Options& to) {
  add_list(command, "--rules", to.rules_folders, "also load the rule pages in this folder (may be repeated)");
}

void add_baseline_options(CLI::App* command, Options& to) {
  command->add_option("--baseline", to.baseline,
                      "what is accepted (a baseline, or a JSON diagnosis): only what is new counts");
  command->add_flag("--strict-baseline", to.strict_baseline,
                    "exit 1 when an entry of the baseline is stale or expired");
  add_list(command, "--model-name", to.names,
           "what baselines and fingerprints call the model instead of its path; MODEL=NAME where there are "
           "several");
}

void add_accepting_options(CLI::App* command, Options& to) {
  command->add_option(
      "--write-baseline", to.write_baseline,
      "accept what is found: write or update this baseline; reasons, owners and dates are kept");
  command->add_flag("--prune-baseline", to.prune_baseline,
                    "remove stale and expired entries from the baseline");
}

void add_fail_on(CLI::App* command, Options& to) {
  command
      ->add_option("--fail-on", to.fail_on,
                   "exit 1 when something of this severity or above remains: fatal, silent (default), perf, "
                   "note, never")
      ->check(one_of({"fatal", "silent", "perf", "note", "never"}));
}

void add_report_format(CLI::App* command, Options& to) {
  command
      ->add_option("--output-format", to.output_format,
                   "text, concise, json, jsonl, sarif, github, junit, markdown or html")
      ->check(one_of(report_format_names()));
}

void add_diagnosis_options(CLI::App* command, Options& to) {
  add_list(
      command, "--log", to.logs,
      "a log of the failed export or compile; - is standard input; MODEL=FILE where there are several models "
      "(may be repeated)");
  command->add_flag("--no-auto-log", to.no_auto_log, "do not read MODEL.log or MODEL.err beside a model");
  add_list(command, "--target", to.targets,
           "runtime and version, e.g. litert-gpu@2.3.0; a fix must hold on all (may be repeated)")
      ->check(known_target());
  add_names(command, "--select", to.select, "only these rules: ids, id prefixes or names");
  add_names(command, "--ignore", to.ignore, "not these rules");
  add_names(command, "--symptom", to.symptoms,
            "what is seen: zeros, nan, wrong, first-token-right, degrades, state")
      ->check(one_of({"zeros", "nan", "wrong", "first-token-right", "degrades", "state"}));
  add_list(command, "--shape", to.shapes,
           "fix the size of an input that may change its shape: NAME=1,1280 (may be repeated)");
  add_list(command, "--inputs", to.inputs,
           "real inputs, .npz or .npy: show what overflows in fp16, and compare on them (may be repeated)");
  add_list(command, "--range", to.ranges, "values that an input takes: NAME=LO:HI (may be repeated)");
  add_fail_on(command, to);
  add_report_format(command, to);
  add_names(
      command, "--report", to.reports,
      "also write a report: FORMAT=FILE, e.g. json=a.json,html=b.html; FILE - is standard output, and the "
      "report for people then goes to standard error");
  command->add_flag("--force", to.force, "replace files that modeldoctor did not write");
  add_baseline_options(command, to);
  command->add_option("--jobs", to.jobs, "models worked on at a time (default: one a processor)")
      ->check(whole_number(0, 1024));
  command->add_flag("--hash", to.hash, "record the input's SHA-256 in the diagnosis");
  command->add_flag("-q,--quiet", to.quiet, "no report for people; the exit code says it");
  add_rule_options(command, to);
  add_screen_options(command, to);
}

void add_fix_options(CLI::App* command, Options& to) {
  command->add_option("-o,--output", to.output, "write the model here instead of MODEL.fixed.EXT");
  add_list(command, "--cut-before", to.cuts,
           "first remove everything behind this value and make it an output (may be repeated)");
  command->add_flag("--dry-run", to.dry_run, "diagnose, prove and compare, write nothing");
  command->add_flag("--diff", to.show_diff, "print what changes in the graph");
  command->add_flag("--in-place", to.in_place, "replace the input file");
  command->add_flag("--unsafe-fixes", to.unsafe_fixes,
                    "also fixes that change the interface, cost much, or rest on an assumption");
  command->add_flag("--exact-only", to.exact_only, "only fixes that are equal bit for bit");
  command->add_flag("--require-proof", to.require_proof,
                    "never a fix that could not be evaluated, not even with --unsafe-fixes; exit 1 where the "
                    "whole model was not compared");
  command->add_flag("--thorough", to.thorough, "prove unary fixes on every 32-bit float (seconds each)");
  command
      ->add_option("--max-error", to.max_error,
                   "largest stated error of a fix, relative to the largest output")
      ->check(number_of_at_least(0));
  command->add_option("--samples", to.samples, "samples of a proof")->check(whole_number(1, kMostSamples));
  command->add_option("--seed", to.seed, "seed of the samples")->check(whole_number(0, kLargestSeed));
}

class Commands {
 public:
  Commands(CLI::App& program, Parsed& in) : program_(program), in_(in) {}

  InnerCommands operator()() {
    Options& o = in_.options;
    CLI::App* check =
        program_.add_subcommand("check", "diagnose only: what is wrong, where, and which fixes there are");
    add_files(check, "model", o.models, "model files, folders, or - for standard input");
    add_diagnosis_options(check, o);
    add_accepting_options(check, o);
    CLI::App* fix =
        program_.add_subcommand("fix", "diagnose, rewrite, prove, write the model and the JSON diagnosis");
    add_files(fix, "model", o.models,
              "model files, or - for standard input; without one: advice from the log");
    add_diagnosis_options(fix, o);
    add_fix_options(fix, o);
    CLI::App* log = program_.add_subcommand(
        "log", "a log alone: what failed, and which rules know it; a folder of logs: a table");
    add_files(log, "log", o.logs, "log files, folders of them, or - for standard input")->required();
    add_diagnosis_options_without_log(log);
    add_catalogue_commands();
    add_model_commands();
    add_numeric_commands();
    add_config_command();
    return inner_;
  }

 private:
  void add_diagnosis_options_without_log(CLI::App* log) {
    Options& o = in_.options;
    add_names(log, "--select", o.select, "only these rules: ids, id prefixes or names");
    add_names(log, "--ignore", o.ignore, "not these rules");
    add_fail_on(log, o);
    add_report_format(log, o);
    add_names(log, "--report", o.reports,
              "also write a report: FORMAT=FILE, or FORMAT=- for standard output");
    log->add_flag("--force", o.force, "replace files that modeldoctor did not write");
    add_baseline_options(log, o);
    add_accepting_options(log, o);
    log->add_flag("-q,--quiet", o.quiet, "no report for people");
    add_rule_options(log, o);
    add_screen_options(log, o);
  }

  void add_catalogue_commands() {
    Options& o = in_.options;
    CLI::App* explain =
        program_.add_subcommand("explain", "a rule's page, or the rule that knows an error text");
    explain->add_option("subject", in_.subject, "RULE or \"error text\"")->required();
    add_rule_options(explain, o);
    add_screen_options(explain, o);
    CLI::App* rules =
        program_.add_subcommand("rules", "the catalogue; `rules test FILE` tries a rule page of your own");
    add_rule_options(rules, o);
    add_screen_options(rules, o);
    rules->require_subcommand(0, 1);
    CLI::App* list = rules->add_subcommand("list", "every rule, one a line");
    list->add_flag("--markdown", in_.markdown, "as the page rules/INDEX.md");
    add_rule_options(list, o);
    add_screen_options(list, o);
    inner_.rules_test = rules->add_subcommand(
        "test", "run the examples that a rule page holds (without FILE: of every rule)");
    add_files(inner_.rules_test, "file", in_.files, "rule pages");
    add_rule_options(inner_.rules_test, o);
    add_screen_options(inner_.rules_test, o);
    CLI::App* schema =
        program_.add_subcommand("schema", "the JSON Schema of what this program reads and writes");
    schema->add_option("what", in_.schema,
                       "diagnosis, baseline, rule (the JSON block of a rule page) or config");
    CLI::App* rendered =
        program_.add_subcommand("report", "JSON diagnoses of earlier runs as another format");
    add_files(rendered, "diagnosis", in_.files, "files that fix or --report json= wrote")->required();
    rendered->add_option("--html", in_.html, "write one HTML page here (- is standard output)");
    rendered->add_flag("--force", o.force, "replace a file that modeldoctor did not write");
    add_report_format(rendered, o);
    add_screen_options(rendered, o);
  }

  void add_model_commands() {
    CLI::App* inspect =
        program_.add_subcommand("inspect", "operators, ranks, types, sizes, outputs, signatures");
    inspect->add_option("model", in_.model, "model file")->required();
    inspect->add_option("--output-format", in_.format, "text or json")->check(one_of({"text", "json"}));
    add_screen_options(inspect, in_.options);
    CLI::App* diff = program_.add_subcommand("diff", "what changed in the graph between two models");
    diff->add_option("before", in_.before, "model file")->required();
    diff->add_option("after", in_.after, "model file")->required();
    diff->add_option("--output-format", in_.format, "text or json")->check(one_of({"text", "json"}));
    add_screen_options(diff, in_.options);
  }

  void add_samples(CLI::App* command, const std::vector<std::string>& formats) {
    NumericOptions& n = in_.numeric;
    add_list(command, "--inputs", n.inputs,
             "inputs to run on: .npz or .npy files, arrays by input name (may be repeated)");
    add_list(command, "--range", n.ranges, "values of generated inputs: NAME=LO:HI (may be repeated)");
    command->add_option("--samples", in_.options.samples, "generated samples")
        ->check(whole_number(1, kMostSamples));
    command->add_option("--seed", in_.options.seed, "seed of generated samples")
        ->check(whole_number(0, kLargestSeed));
    command->add_option("--output-format", n.format, fmt::format("{}", fmt::join(formats, " or ")))
        ->check(one_of(formats));
    add_screen_options(command, in_.options);
  }

  void add_numeric_commands() {
    NumericOptions& n = in_.numeric;
    CLI::App* verify =
        program_.add_subcommand("verify", "are two models equal, or a model and what a device computed");
    verify->add_option("model", n.model, "model file")->required();
    verify->add_option("other", n.other, "model file to compare with");
    add_list(verify, "--outputs", n.outputs,
             "instead of a second model: the outputs of a device on --inputs, .npz or .npy");
    verify->add_option("--on", n.on,
                       "run the second model (or the one model) on this runtime: see `modeldoctor runners`");
    verify->add_option("--runner", n.runner,
                       "run it with a command of your own, which gets the exchange folder");
    verify->add_option("--timeout", n.timeout, "seconds that a runtime may take")
        ->check(whole_number(1, 1000000));
    verify->add_option("--rtol", n.rtol, "allowed relative difference")->check(number_of_at_least(0));
    verify->add_option("--atol", n.atol, "allowed absolute difference")->check(number_of_at_least(0));
    verify->add_flag("--fp16", n.fp16, "compute the second model (or the one model) as an fp16 device does");
    add_samples(verify, {"text", "json"});
    CLI::App* fp16 = program_.add_subcommand(
        "fp16", "headroom to 65504 per layer, the first overflow, overflow or precision");
    fp16->add_option("model", n.model, "model file")->required();
    fp16->add_option("--arithmetic", n.arithmetic,
                     "how the device sums: storage (in fp32), accumulate or tree (in fp16)")
        ->check(one_of({"storage", "accumulate", "tree"}));
    fp16->add_flag("--saturate", n.saturate, "overflow gives 65504, not infinity");
    add_samples(fp16, {"text", "json", "csv"});
    program_.add_subcommand("runners", "real runtimes that verify can use, and how to install them");
    CLI::App* tap = program_.add_subcommand("tap", "write a copy whose inner value is one more output");
    tap->add_option("model", n.model, "model file")->required();
    tap->add_option("--at", n.at, "the value: a name, or its number")->required();
    tap->add_option("-o,--output", n.out, "write the copy here instead of MODEL.tap.EXT");
    tap->add_flag("--force", in_.options.force, "replace a file that is there");
    add_screen_options(tap, in_.options);
  }

  void add_config_command() {
    CLI::App* config = program_.add_subcommand("config", "where the values of options come from");
    config->require_subcommand(1);
    inner_.config_show = config->add_subcommand(
        "show", "`config show [COMMAND [ITS OPTIONS]]`: every option, its value, and who says so");
    inner_.config_show->add_option("--output-format", in_.format, "text or json")
        ->check(one_of({"text", "json"}));
    inner_.config_show->add_option("--config", in_.options.config, "instead of the nearest modeldoctor.toml");
    inner_.config_show->add_flag("--no-config", in_.options.no_config, "read no modeldoctor.toml");
    inner_.config_show->prefix_command();
  }

  CLI::App& program_;
  Parsed& in_;
  InnerCommands inner_;
};

}  // namespace

InnerCommands add_commands(CLI::App& program, Parsed& in) { return Commands(program, in)(); }

}  // namespace md::app
