#include "app/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "app/commands.h"
#include "app/config.h"
#include "app/config_show.h"
#include "app/terminal.h"
#include "app/validators.h"
#include "lib/base/nearest.h"
#include "lib/base/program_version.h"
#include "lib/report/report.h"

namespace md::app {
namespace {

/// Everything that some command reads.
struct Parsed {
  Options options;
  NumericOptions numeric;
  std::string subject, model, before, after, html, schema = "diagnosis", format = "text";
  bool markdown = false;
  std::vector<std::string> files;
};

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

int fail_usage(const std::string& message) { return report({Error::Kind::usage, message}); }

std::vector<std::string> command_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

/// An option that the command it stands behind does not have.
int unexpected_option(const CLI::App& program, const CLI::App& app, const std::string& name) {
  const std::string said = &app == &program ? "modeldoctor" : app.get_name();
  std::vector<std::string> owners = commands_with(program, name);
  if (&app == &program && !app.get_subcommands().empty()) {
    const std::string command = app.get_subcommands().front()->get_name();
    if (std::find(owners.begin(), owners.end(), command) != owners.end())
      return fail_usage(fmt::format(
          "{0} is an option of {1}: it stands behind the command, modeldoctor {1} {0} ...", name, command));
  }
  const std::string letters = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  const std::string meant = nearest(letters, own_options(app));
  std::string help = "; --help lists them";
  if (!owners.empty())
    help = fmt::format("; {} {} it", fmt::join(owners, ", "), owners.size() == 1 ? "has" : "have");
  else if (!meant.empty() && meant != letters)
    help = fmt::format(" (did you mean --{}?)", meant);
  return fail_usage(fmt::format("{} has no option {}{}", said, name, help));
}

/// CLI11 says that something was not expected; people want to know what was meant.
int unexpected_arguments(const CLI::App& program, const CLI::Error& error) {
  for (const CLI::App* app = &program; app;
       app = app->get_subcommands().empty() ? nullptr : app->get_subcommands().front())
    for (const std::string& extra : app->remaining(false))
      if (extra.starts_with("-")) return unexpected_option(program, *app, extra.substr(0, extra.find('=')));
  return fail_usage(error.what());
}

class CommandLine {
 public:
  CommandLine()
      : program_(
            "Reads the log of a failed export or compile and the model, names the failure, rewrites the "
            "model, proves the rewrite equal.",
            "modeldoctor") {
    program_.set_version_flag("--version", fmt::format("modeldoctor {}", program_version()));
    program_.require_subcommand(0, 1);
    program_.footer(
        "Exit codes: 0 nothing remains; 1 something remains; 2 bad usage or unreadable input; 3 the written "
        "file failed its check; 4 internal error.");
    add_commands();
  }

  int run(int argc, char** argv) {
    if (const int code = check_command(argc, argv); code != 0) return code;
    try {
      program_.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      return print_data(chosen_help()) ? 0 : 4;
    } catch (const CLI::CallForVersion& version) {
      return print_data(std::string(version.what()) + "\n") ? 0 : 4;
    } catch (const CLI::ExtrasError& error) {
      return unexpected_arguments(program_, error);
    } catch (const CLI::ParseError& error) {
      return fail_usage(error.what());
    }
    if (program_.get_subcommands().empty()) {
      fmt::print(stderr, "{}\n", program_.help());
      return 2;
    }
    CLI::App& command = *program_.get_subcommands().front();
    if (command.get_name() == "config") return show_config();
    if (auto places = read_config(command); !places) return report(places.error());
    return dispatch(command);
  }

 private:
  /// Loads what holds for this run, and gives the command that was typed what the files say.
  Result<ConfigPlaces> read_config(CLI::App& command) {
    if (!command.get_option_no_throw("--config")) return ConfigPlaces();
    if (!layers_) {
      auto loaded = in_.options.no_config ? Result<std::vector<ConfigLayer>>()
                                          : load_config(in_.options.config, program_);
      if (!loaded) return tl::make_unexpected(loaded.error());
      layers_ = std::move(*loaded);
      in_.options.per_model = per_model_settings(*layers_);
      for (const ConfigLayer& layer : *layers_) in_.options.config_files.push_back(layer.file.path);
    }
    CLI::App* innermost = &command;
    while (!innermost->get_subcommands().empty()) innermost = innermost->get_subcommands().front();
    for (const std::string& name : own_options(*innermost))
      if (innermost->get_option("--" + name)->count() > 0) in_.options.given.insert(name);
    ConfigPlaces places = apply_config(*layers_, command.get_name(), *innermost);
    in_.options.places = places;
    return places;
  }

  /// `config show [COMMAND [ITS OPTIONS]]`: a second command line, parsed and not run.
  int show_config() {
    CommandLine shown;
    shown.in_.options.config = in_.options.config, shown.in_.options.no_config = in_.options.no_config;
    std::vector<std::string> words = config_show_->remaining();
    const std::string chosen = words.empty() ? "" : words.front();
    for (CLI::App* command : shown.program_.get_subcommands([](const CLI::App*) { return true; }))
      for (CLI::Option* option : command->get_options()) option->required(false)->capture_default_str();
    const std::vector<std::string> names = command_names(program_);
    if (!chosen.empty() && std::find(names.begin(), names.end(), chosen) == names.end())
      return fail_usage(fmt::format("no command is called {}{}", chosen, did_you_mean(chosen, names)));
    try {
      std::reverse(words.begin(), words.end());  // as CLI11 wants them
      if (!words.empty()) shown.program_.parse(std::move(words));
    } catch (const CLI::ExtrasError& error) {
      return unexpected_arguments(shown.program_, error);
    } catch (const CLI::ParseError& error) {
      return fail_usage(error.what());
    }
    std::vector<OptionOrigin> options;
    for (CLI::App* command : shown.program_.get_subcommands([](const CLI::App*) { return true; })) {
      if (!chosen.empty() && command->get_name() != chosen) continue;
      if (!command->get_option_no_throw("--config") || command->get_name() == "config") continue;
      auto places = shown.read_config(*command);
      if (!places) return report(places.error());
      const std::vector<OptionOrigin> own = origins_of(*command, *places);
      options.insert(options.end(), own.begin(), own.end());
    }
    if (options.empty()) return fail_usage(fmt::format("{} reads no configuration", chosen));
    const bool json = in_.format == "json";
    return print_data(json ? config_json(*shown.layers_, options) : config_text(*shown.layers_, options)) ? 0
                                                                                                          : 4;
  }

  void add_config_command() {
    CLI::App* config = program_.add_subcommand("config", "where the values of options come from");
    config->require_subcommand(1);
    config_show_ = config->add_subcommand(
        "show", "`config show [COMMAND [ITS OPTIONS]]`: every option, its value, and who says so");
    config_show_->add_option("--output-format", in_.format, "text or json")->check(one_of({"text", "json"}));
    config_show_->add_option("--config", in_.options.config, "instead of the nearest modeldoctor.toml");
    config_show_->add_flag("--no-config", in_.options.no_config, "read no modeldoctor.toml");
    config_show_->prefix_command();
  }

  void add_commands() {
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
    CLI::App* log = program_.add_subcommand("log", "a log alone: which known failures are in it");
    add_files(log, "log", o.logs, "log files, or - for standard input")->required();
    add_diagnosis_options_without_log(log);
    add_catalogue_commands();
    add_model_commands();
    add_numeric_commands();
    add_config_command();
  }

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
    rules_test_ = rules->add_subcommand(
        "test", "run the examples that a rule page holds (without FILE: of every rule)");
    add_files(rules_test_, "file", in_.files, "rule pages");
    add_rule_options(rules_test_, o);
    add_screen_options(rules_test_, o);
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

  /// A first word that is no command: a mistyped one, or a file whose command was left out.
  int check_command(int argc, char** argv) const {
    if (argc < 2 || argv[1][0] == '-') return 0;
    const std::string word = argv[1];
    const std::vector<std::string> names = command_names(program_);
    if (std::find(names.begin(), names.end(), word) != names.end()) return 0;
    std::error_code error;
    if (std::filesystem::exists(word, error))
      return fail_usage(
          fmt::format("say what to do with {0}: modeldoctor check {0}, or modeldoctor fix {0}", word));
    return fail_usage(fmt::format("no command is called {}{}", word, did_you_mean(word, names)));
  }

  std::string chosen_help() const {
    const CLI::App* app = &program_;
    std::string path;
    while (!app->get_subcommands().empty()) {
      path += (path.empty() ? "" : " ") + app->get_name();
      app = app->get_subcommands().front();
    }
    return app->help(path) + "\n";
  }

  int dispatch(const CLI::App& command) {
    const std::string& name = command.get_name();
    if (name == "check") return run_check(in_.options);
    if (name == "fix") return run_fix(in_.options);
    if (name == "log") return run_log(in_.options);
    if (name == "explain") return run_explain(in_.options, in_.subject);
    if (name == "rules")
      return rules_test_->parsed() ? run_rules_test(in_.options, in_.files)
                                   : run_rules_list(in_.options, in_.markdown);
    if (name == "schema")
      return in_.schema == "config" ? (print_data(config_schema(program_)) ? 0 : 4) : run_schema(in_.schema);
    if (name == "report") return run_report(in_.options, in_.files, in_.html);
    if (name == "verify") return run_verify(in_.options, in_.numeric);
    if (name == "fp16") return run_fp16(in_.options, in_.numeric);
    if (name == "runners") return run_runners();
    if (name == "tap") return run_tap(in_.options, in_.numeric);
    if (name == "inspect") return run_inspect(in_.options, in_.model, in_.format);
    return run_diff(in_.before, in_.after, in_.format);
  }

  CLI::App program_;
  CLI::App *rules_test_ = nullptr, *config_show_ = nullptr;
  std::optional<std::vector<ConfigLayer>> layers_;
  Parsed in_;
};

}  // namespace

int run_command_line(int argc, char** argv) { return CommandLine().run(argc, argv); }

}  // namespace md::app
