#include "app/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/base/nearest.h"

namespace md::app {
namespace {

bool is_known(const std::string& key, const CLI::App& program) {
  const std::vector<std::string> names = long_options(program);
  return std::find(names.begin(), names.end(), key) != names.end();
}

using Json = nlohmann::json;

/// The TOML value of one option: a flag, a number, a text, or a list where the option may be repeated.
Json option_schema(const CLI::Option& option) {
  Json schema = Json::object();
  if (option.get_expected_max() == 0) {
    schema["type"] = "boolean";
  } else {
    const std::string type = option.get_type_name();
    const Json one = {{"type", type.starts_with("INT") || type.starts_with("UINT") ? "integer"
                               : type.starts_with("FLOAT")                         ? "number"
                                                                                   : "string"}};
    schema = option.get_multi_option_policy() != CLI::MultiOptionPolicy::TakeAll
                 ? one
                 : Json{{"anyOf", Json::array({one, Json{{"type", "array"}, {"items", one}}})}};
  }
  schema["description"] = option.get_description();
  return schema;
}

void add_options(const CLI::App& app, Json& properties) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      if (name != "help" && name != "version" && name != "config") properties[name] = option_schema(*option);
}

}  // namespace

std::string config_schema(const CLI::App& program) {
  Json properties = Json::object();
  for (const CLI::App* command : program.get_subcommands({})) {
    Json own = Json::object();
    add_options(*command, own);
    if (own.empty()) continue;
    properties.update(own);
    properties[command->get_name()] = {{"type", "object"},
                                       {"description", "for this command alone"},
                                       {"properties", own},
                                       {"additionalProperties", false}};
  }
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"$id", "modeldoctor-config-1.0"},
                       {"title", "modeldoctor.toml: defaults for long options"},
                       {"type", "object"},
                       {"properties", properties},
                       {"additionalProperties", false}};
  return schema.dump(2) + "\n";
}

std::string find_config() {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !error; folder = folder.parent_path()) {
    const fs::path file = folder / "modeldoctor.toml";
    if (fs::is_regular_file(file, error)) return file.string();
    if (folder == folder.root_path()) break;
  }
  return "";
}

std::vector<std::string> long_options(const CLI::App& app) {
  std::vector<std::string> names;
  const auto add = [&](const CLI::App& one) {
    for (const CLI::Option* option : one.get_options())
      for (const std::string& name : option->get_lnames())
        if (name != "help" && name != "version") names.push_back(name);
  };
  add(app);
  for (const CLI::App* command : app.get_subcommands({})) {
    add(*command);
    for (const CLI::App* inner : command->get_subcommands({})) add(*inner);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Status apply_config(const std::string& path, CLI::App& program, CLI::App& command) {
  std::ifstream file(path);
  if (!file) return usage_error(fmt::format("{}: cannot be read", path));
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(file);
  } catch (const CLI::Error& error) {
    return usage_error(fmt::format("{}: {}", path, error.what()));
  }
  for (const CLI::ConfigItem& item : items) {
    // CLI11 marks the begin and the end of a section with items of these names.
    if (item.name == "++" || item.name == "--") continue;
    if (!item.parents.empty() && item.parents.front() != command.get_name()) continue;
    if (!is_known(item.name, program))
      return usage_error(fmt::format("{}: {} is no option{}", path, item.name,
                                     did_you_mean(item.name, long_options(program))));
    CLI::Option* option = command.get_option_no_throw("--" + item.name);
    if (!option || option->count() > 0) continue;
    try {
      if (option->get_expected_max() == 0) {
        if (item.inputs.size() == 1 && (item.inputs[0] == "false" || item.inputs[0] == "0")) continue;
        option->add_result("true");
      } else {
        option->add_result(item.inputs);
      }
      option->run_callback();
    } catch (const CLI::Error& error) {
      return usage_error(fmt::format("{}: {}: {}", path, item.name, error.what()));
    }
  }
  return {};
}

}  // namespace md::app
