// modeldoctor.toml: values of long options, without the dashes ("target = \"litert-gpu@2.3.0\""). The nearest
// file in this folder or above it counts, below it the user's own (~/.config/modeldoctor/modeldoctor.toml).
#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/config_file.h"

namespace md::app {

/// Where a file comes from, in the order of precedence. Only a file that the user wrote or named may act: a
/// folder's comes with a cloned repository.
enum class ConfigOrigin { user, folder, named };

struct ConfigLayer {
  ConfigOrigin origin = ConfigOrigin::folder;
  ConfigFile file;
};

/// The files that hold in this run, lowest precedence first, each checked against the options of the whole
/// program: unknown tables, keys and wrong values are errors with file and line, and so is a key of a
/// folder's file that is not on the list of what only judges. `named`: --config, instead of the nearest.
Result<std::vector<ConfigLayer>> load_config(const std::string& named, CLI::App& program);

/// Option (without dashes) -> "modeldoctor.toml:3".
using ConfigPlaces = std::map<std::string, std::string>;

/// Gives the options of `command` (the innermost one that was typed; `table` is the outermost one's name)
/// what the files say, unless the command line says it. A table goes before the top of its file, the last
/// layer before the first.
ConfigPlaces apply_config(const std::vector<ConfigLayer>& layers, const std::string& table,
                          CLI::App& command);

/// [[per-model]] of all layers, in their order.
std::vector<PerModelSettings> per_model_settings(const std::vector<ConfigLayer>& layers);

/// JSON Schema (2020-12) of the file, made from the options themselves.
std::string config_schema(const CLI::App& program);

/// True for commands whose options a file may set: `program.get_subcommands(reads_config)`.
bool reads_config(const CLI::App* command);

/// What an option takes, as TOML and JSON have it.
struct OptionType {
  enum class Value { flag, whole, real, text } value = Value::text;
  bool many = false;  ///< a list of such values, too
};
OptionType type_of(const CLI::Option& option);

/// The long options of this command alone that a file may set, without dashes, sorted.
std::vector<std::string> own_options(const CLI::App& command);
/// Those of the program: every command and what is below it.
std::vector<std::string> long_options(const CLI::App& program);
/// The commands that have such an option.
std::vector<std::string> commands_with(const CLI::App& program, const std::string& option);

/// True for options that a folder's file may set: they choose what is reported and how it is judged. All
/// others (what writes, overwrites, runs a program, or changes the model) are refused there.
bool only_judges(const std::string& option);

}  // namespace md::app
