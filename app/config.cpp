#include "app/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/validators.h"
#include "lib/base/nearest.h"
#include "lib/base/program_version.h"

namespace md::app {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFileName = "modeldoctor.toml";

/// Sorted. A new option is not in it, and so refused in a folder's file, until somebody has thought about it.
constexpr std::array<std::string_view, 26> kOnlyJudges = {
    "arithmetic", "atol",   "baseline",      "color",  "dry-run", "exact-only", "fail-on",
    "fp16",       "hash",   "ignore",        "inputs", "jobs",    "max-error",  "output-format",
    "quiet",      "range",  "require-proof", "rtol",   "rules",   "samples",    "saturate",
    "seed",       "select", "symptom",       "target", "verbose"};

/// Options that name files: from the folder of the file that says them.
bool names_files(const std::string& option) {
  static constexpr std::array<std::string_view, 8> names = {
      "baseline", "html", "inputs", "log", "output", "outputs", "rules", "write-baseline"};
  return std::find(names.begin(), names.end(), option) != names.end();
}

bool may_be_set(const std::string& name) {
  return name != "help" && name != "version" && name != "config" && name != "no-config";
}

/// The user's own file; "" when there is no home.
std::string user_config_path() {
  const char* xdg = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  fs::path base;
  if (xdg && fs::path(xdg).is_absolute())  // a relative one is to be ignored, says the specification
    base = xdg;
  else if (home && fs::path(home).is_absolute())
    base = fs::path(home) / ".config";
  return base.empty() ? "" : (base / "modeldoctor" / kFileName).string();
}

/// The nearest modeldoctor.toml in this folder or above it; "" when there is none.
std::string find_config() {
  std::error_code error;
  const fs::path start = fs::current_path(error);
  if (error) return "";
  for (fs::path folder = start;; folder = folder.parent_path()) {
    std::error_code none;  // a folder that may not be looked into has no file for us
    if (fs::is_regular_file(folder / kFileName, none))
      return folder == start ? kFileName : (folder / kFileName).string();
    if (folder == folder.root_path()) return "";
  }
}

Result<std::string> read_file(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return usage_error(path + ": is a directory; expected a file in TOML");
  std::ifstream file(path, std::ios::binary);
  if (!file) return usage_error(fmt::format("{}: cannot be read", path));
  std::string text(longest_config + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// Why the option does not take the value, with an example; "" when it does.
std::string misfit(CLI::Option& option, const ConfigValue& value) {
  using Kind = ConfigValue::Kind;
  const OptionType type = type_of(option);
  if (type.value == OptionType::Value::flag)
    return value.kind == Kind::boolean ? "" : "expected true or false";
  if (value.kind == Kind::other)
    return type.many ? "expected a text or a list of texts" : "expected one value";
  if (value.kind == Kind::list && !type.many) return "expected one value, not a list";
  const bool number = type.value != OptionType::Value::text;
  if (number && value.kind != Kind::integer && value.kind != Kind::real)
    return fmt::format(
        "expected a number without quotes, not {}",
        value.kind == Kind::text ? fmt::format("\"{}\"", value.texts.front()) : value.texts.front());
  if (!number && value.kind != Kind::text && value.kind != Kind::list) return "expected a text in quotes";
  for (const std::string& text : value.texts)
    if (std::string why = refusal(option, text); !why.empty()) return why;
  return "";
}

/// One key of one file against the options of the program.
class Checker {
 public:
  Checker(const ConfigLayer& layer, CLI::App& program) : layer_(layer), program_(program) {}

  Status check() const {
    for (const ConfigSetting& setting : layer_.file.settings) {
      auto status = setting.key.empty() ? check_table(setting) : check_setting(setting);
      if (!status) return status;
    }
    for (const PerModelSettings& entry : layer_.file.per_model)
      if (auto status = check_entry(entry); !status) return status;
    return {};
  }

 private:
  tl::unexpected<Error> error(const ConfigSetting& setting, const std::string& what) const {
    return usage_error(fmt::format("{}:{}: {}", layer_.file.path, setting.line, what));
  }

  CLI::App* command(const std::string& name) const {
    for (CLI::App* one : program_.get_subcommands(reads_config))
      if (one->get_name() == name) return one;
    return nullptr;
  }

  Status check_table(const ConfigSetting& setting) const {
    if (command(setting.table)) return {};
    std::vector<std::string> names = {"per-model"};
    for (const CLI::App* one : program_.get_subcommands(reads_config)) names.push_back(one->get_name());
    return error(setting,
                 fmt::format("[{}]: no command is called so{}; tables hold the options of one command",
                             setting.table, did_you_mean(setting.table, names)));
  }

  Status check_setting(const ConfigSetting& setting) const {
    const std::string& key = setting.key;
    std::vector<CLI::Option*> options;
    const CLI::App* owner = setting.table.empty() ? nullptr : command(setting.table);
    for (CLI::App* one : program_.get_subcommands(reads_config))
      if (!owner || one == owner)
        if (CLI::Option* option = may_be_set(key) ? one->get_option_no_throw("--" + key) : nullptr)
          options.push_back(option);
    if (options.empty()) {
      std::vector<std::string> known = owner ? own_options(*owner) : long_options(program_);
      if (!owner) known.insert(known.end(), {"required-version", "per-model"});
      return error(setting, fmt::format("{}{} is no option{}", owner ? setting.table + "." : "", key,
                                        owner ? " of that command" : "") +
                                did_you_mean(key, known));
    }
    if (layer_.origin == ConfigOrigin::folder && !only_judges(key)) return refused(setting);
    std::string why;  // of several commands that have it: the one that knows what was meant
    for (CLI::Option* option : options) {
      const std::string one = misfit(*option, setting.value);
      if (one.empty()) return {};
      if (why.empty() ||
          (why.find("did you mean") == std::string::npos && one.find("did you mean") != std::string::npos))
        why = one;
    }
    return error(setting, key + ": " + why);
  }

  Status refused(const ConfigSetting& setting) const {
    const std::string own = user_config_path();
    return error(
        setting,
        fmt::format("{}: a file found in a folder may say what is judged, not what is run, written or "
                    "changed; if you trust it, give it with --config {}{}",
                    setting.key, layer_.file.path,
                    own.empty() ? "" : fmt::format(", or move the line to {}", own)));
  }

  Status check_entry(const PerModelSettings& entry) const {
    const auto one = [&](const char* name, const std::string& value) -> Status {
      for (CLI::App* command : program_.get_subcommands(reads_config)) {
        CLI::Option* option = command->get_option_no_throw(std::string("--") + name);
        if (!option) continue;
        if (const std::string why = refusal(*option, value); !why.empty())
          return usage_error(fmt::format("{}: {}: {}", entry.place, name, why));
        break;
      }
      return {};
    };
    for (const std::string& target : entry.targets)
      if (auto status = one("target", target); !status) return status;
    return entry.fail_on.empty() ? Status() : one("fail-on", entry.fail_on);
  }

  const ConfigLayer& layer_;
  CLI::App& program_;
};

/// Paths are meant from the file's folder, not from where the program was started.
std::string from_folder_of(const std::string& file, const std::string& option, const std::string& text) {
  const fs::path folder = fs::path(file).parent_path();
  if (folder.empty() || text.empty() || text == "-") return text;
  const std::size_t equals = option == "report" ? text.find('=') + 1 : 0;
  if (option != "report" && !names_files(option)) return text;
  const std::string path = text.substr(equals);
  if (path == "-" || fs::path(path).is_absolute()) return text;
  return text.substr(0, equals) + (folder / path).string();
}

void set_option(CLI::Option& option, const ConfigSetting& setting, const std::string& file) {
  if (type_of(option).value == OptionType::Value::flag) {
    if (setting.value.texts.front() == "false") return;
    option.add_result("true");
  } else {
    std::vector<std::string> texts;
    for (const std::string& text : setting.value.texts)
      texts.push_back(from_folder_of(file, setting.key, text));
    if (texts.empty()) return;
    option.add_result(texts);
  }
  option.run_callback();
}

}  // namespace

bool reads_config(const CLI::App* command) { return command->get_option_no_throw("--config") != nullptr; }

OptionType type_of(const CLI::Option& option) {
  using Value = OptionType::Value;
  if (option.get_expected_max() == 0) return {.value = Value::flag};
  const std::string name = option.get_type_name();
  const bool many = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  if (name.starts_with("INT") || name.starts_with("UINT")) return {.value = Value::whole, .many = many};
  return {.value = name.starts_with("FLOAT") ? Value::real : Value::text, .many = many};
}

bool only_judges(const std::string& option) {
  return std::find(kOnlyJudges.begin(), kOnlyJudges.end(), option) != kOnlyJudges.end();
}

Result<std::vector<ConfigLayer>> load_config(const std::string& named, CLI::App& program) {
  std::vector<ConfigLayer> layers;
  const auto add = [&](ConfigOrigin origin, const std::string& path) -> Status {
    auto text = read_file(path);
    if (!text) return tl::make_unexpected(text.error());
    auto file = parse_config(path, *text, program_version());
    if (!file) return tl::make_unexpected(file.error());
    layers.push_back({origin, std::move(*file)});
    if (origin == ConfigOrigin::user)  // its patterns are meant from where the program is started
      for (PerModelSettings& entry : layers.back().file.per_model) entry.folder.clear();
    return Checker(layers.back(), program).check();
  };
  std::error_code error;
  const std::string own = user_config_path(), found = named.empty() ? find_config() : named;
  if (!own.empty() && fs::is_regular_file(own, error))
    if (auto status = add(ConfigOrigin::user, own); !status) return tl::make_unexpected(status.error());
  const bool same = !layers.empty() && !found.empty() && fs::equivalent(own, found, error);
  if (!found.empty() && !same)
    if (auto status = add(named.empty() ? ConfigOrigin::folder : ConfigOrigin::named, found); !status)
      return tl::make_unexpected(status.error());
  return layers;
}

ConfigPlaces apply_config(const std::vector<ConfigLayer>& layers, const std::string& table,
                          CLI::App& command) {
  std::map<std::string, std::pair<const ConfigSetting*, const ConfigFile*>> chosen;
  for (const ConfigLayer& layer : layers)
    for (const std::string& from : {std::string(), table})
      for (const ConfigSetting& setting : layer.file.settings) {
        CLI::Option* option = setting.key.empty() || setting.table != from
                                  ? nullptr
                                  : command.get_option_no_throw("--" + setting.key);
        // A format that another command writes is no error at the top of the file, it is not for this one.
        if (option && option->count() == 0 && misfit(*option, setting.value).empty())
          chosen[setting.key] = {&setting, &layer.file};
      }
  ConfigPlaces places;
  for (const auto& [key, from] : chosen) {
    const auto& [setting, file] = from;
    set_option(*command.get_option("--" + key), *setting, file->path);
    places[key] = fmt::format("{}:{}", file->path, setting->line);
  }
  return places;
}

std::vector<PerModelSettings> per_model_settings(const std::vector<ConfigLayer>& layers) {
  std::vector<PerModelSettings> all;
  for (const ConfigLayer& layer : layers)
    all.insert(all.end(), layer.file.per_model.begin(), layer.file.per_model.end());
  return all;
}

std::vector<std::string> own_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      if (may_be_set(name)) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> long_options(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands(reads_config)) {
    const std::vector<std::string> own = own_options(*command);
    names.insert(names.end(), own.begin(), own.end());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> commands_with(const CLI::App& program, const std::string& option) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_option_no_throw(option)) names.push_back(command->get_name());
  return names;
}

}  // namespace md::app
