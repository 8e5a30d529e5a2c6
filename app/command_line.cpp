#include "app/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>

#include "app/command_options.h"
#include "app/commands.h"
#include "app/config.h"
#include "app/config_show.h"
#include "app/terminal.h"
#include "lib/base/nearest.h"
#include "lib/base/program_version.h"

namespace md::app {
namespace {

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
    inner_ = add_commands(program_, in_);
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
    if (!reads_config(&command)) return ConfigPlaces();
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
    std::vector<std::string> words = inner_.config_show->remaining();
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
    for (CLI::App* command : shown.program_.get_subcommands(reads_config)) {
      if (!chosen.empty() && command->get_name() != chosen) continue;
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
      return inner_.rules_test->parsed() ? run_rules_test(in_.options, in_.files)
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
  InnerCommands inner_;
  std::optional<std::vector<ConfigLayer>> layers_;
  Parsed in_;
};

}  // namespace

int run_command_line(int argc, char** argv) { return CommandLine().run(argc, argv); }

}  // namespace md::app
