// `schema config`: JSON Schema of modeldoctor.toml for editors, made from the options of the command line.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/config.h"

namespace md::app {
namespace {

using Json = nlohmann::json;

const Json kText = {{"type", "string"}};
const Json kTexts = {{"anyOf", {kText, {{"type", "array"}, {"items", kText}}}}};

/// The TOML value of one option: a flag, a number, a text, or a list where the option may be repeated.
Json option_schema(const CLI::Option& option, const std::string& name) {
  using Value = OptionType::Value;
  const OptionType type = type_of(option);
  const Json one = {{"type", type.value == Value::flag    ? "boolean"
                             : type.value == Value::whole ? "integer"
                             : type.value == Value::real  ? "number"
                                                          : "string"}};
  Json schema =
      type.many ? Json{{"anyOf", Json::array({one, Json{{"type", "array"}, {"items", one}}})}} : one;
  schema["description"] = option.get_description() +
                          (only_judges(name) ? "" : " (not in a file that is found in a folder: it acts)");
  return schema;
}

Json options_of(const CLI::App& command) {
  Json properties = Json::object();
  for (const std::string& name : own_options(command))
    properties[name] = option_schema(*command.get_option("--" + name), name);
  return properties;
}

Json per_model_schema() {
  const Json properties = {{"pattern",
                            {{"type", "string"},
                             {"description",
                              "models by path from this file's folder: * in one folder, ** across; "
                              "without a slash: by file name"}}},
                           {"ignore", kTexts},
                           {"select", kTexts},
                           {"target", kTexts},
                           {"fail-on", kText}};
  return {
      {"type", "array"},
      {"description", "what holds for some models alone: ignored rules add up, of the rest the last holds"},
      {"items",
       {{"type", "object"},
        {"properties", properties},
        {"required", {"pattern"}},
        {"additionalProperties", false}}}};
}

}  // namespace

std::string config_schema(const CLI::App& program) {
  Json properties = Json::object(), tables = Json::object();
  for (const CLI::App* command : program.get_subcommands(reads_config)) {
    const Json own = options_of(*command);
    properties.update(own);
    tables[command->get_name()] = {{"type", "object"},
                                   {"description", "for this command alone"},
                                   {"properties", own},
                                   {"additionalProperties", false}};
  }
  for (const auto& [name, table] : tables.items())  // `rules` is an option and a command
    properties[name] =
        properties.contains(name) ? Json{{"anyOf", Json::array({properties[name], table})}} : table;
  properties["required-version"] = {
      {"type", "string"}, {"description", "versions of modeldoctor that may read this file: \">=0.1 <1\""}};
  properties["per-model"] = per_model_schema();
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"$id", "modeldoctor-config-1.0"},
                       {"title", "modeldoctor.toml: defaults for long options"},
                       {"type", "object"},
                       {"properties", properties},
                       {"additionalProperties", false}};
  return schema.dump(2) + "\n";
}

}  // namespace md::app
