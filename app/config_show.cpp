#include "app/config_show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/base/escape.h"
#include "lib/base/program_version.h"

namespace md::app {
namespace {

using Json = nlohmann::json;
using Value = OptionType::Value;
using From = OptionOrigin::From;

/// What CLI11 says of a default: "" for an empty text, "[]" for an empty list.
std::vector<std::string> standard_value(const CLI::Option& option, const OptionType& type) {
  const std::string text = option.get_default_str();
  if (type.value == Value::flag) return {"false"};
  return type.many || text.empty() ? std::vector<std::string>() : std::vector<std::string>{text};
}

template <class Number>
Json number(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? Json(value) : Json(text);
}

Json value_of(const OptionOrigin& option) {
  if (option.type.many) return option.values;
  if (option.values.empty()) return nullptr;
  const std::string& text = option.values.front();
  if (option.type.value == Value::flag) return text == "true";
  if (option.type.value == Value::whole) return number<std::int64_t>(text);
  return option.type.value == Value::real ? number<double>(text) : Json(text);
}

std::string dumped(const Json& json, int indent) {
  return escape_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

std::string value_text(const OptionOrigin& option) {
  return option.values.empty() && !option.type.many ? "(not given)" : dumped(value_of(option), -1);
}

std::string from_text(const OptionOrigin& option) {
  if (option.from == From::standard) return "default";
  return option.from == From::command_line ? "command line" : option.place;
}

/// Options that all commands that have them agree on become one line without the command.
std::vector<std::array<std::string, 3>> rows_of(const std::vector<OptionOrigin>& options) {
  std::map<std::string, std::vector<const OptionOrigin*>> by_name;
  for (const OptionOrigin& option : options) by_name[option.option].push_back(&option);
  std::vector<std::array<std::string, 3>> rows;
  for (const auto& [name, same] : by_name) {
    const bool agree = std::all_of(same.begin(), same.end(), [&](const OptionOrigin* one) {
      return value_text(*one) == value_text(*same.front()) && from_text(*one) == from_text(*same.front());
    });
    for (const OptionOrigin* one : same) {
      rows.push_back({agree ? name : one->command + "." + name, value_text(*one), from_text(*one)});
      if (agree) break;
    }
  }
  return rows;
}

std::string_view origin_name(ConfigOrigin origin) {
  return origin == ConfigOrigin::user ? "user" : origin == ConfigOrigin::named ? "named" : "folder";
}

}  // namespace

std::vector<OptionOrigin> origins_of(CLI::App& command, const ConfigPlaces& places) {
  std::vector<OptionOrigin> rows;
  for (const std::string& name : own_options(command)) {
    CLI::Option& option = *command.get_option("--" + name);
    OptionOrigin row{command.get_name(), name, {}, type_of(option), From::standard, ""};
    const auto place = places.find(name);
    if (place != places.end()) row.from = From::file, row.place = place->second;
    if (place == places.end() && option.count() > 0) row.from = From::command_line;
    row.values = option.count() > 0 ? option.results() : standard_value(option, row.type);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string config_text(const std::vector<ConfigLayer>& layers, const std::vector<OptionOrigin>& options) {
  std::string out;
  const auto line = [&](std::string_view words) { out += escape_terminal(words) + '\n'; };
  if (layers.empty()) line("no configuration file; defaults and the command line alone");
  for (const ConfigLayer& layer : layers)
    line(fmt::format("# {} ({})", layer.file.path,
                     layer.origin == ConfigOrigin::user     ? "the user's own"
                     : layer.origin == ConfigOrigin::folder ? "found in a folder: it may only judge"
                                                            : "named with --config"));
  std::size_t widest = 0;
  const auto rows = rows_of(options);
  for (const auto& [name, value, from] : rows) widest = std::max(widest, name.size() + value.size() + 3);
  widest = std::min<std::size_t>(widest, 60);
  for (const auto& [name, value, from] : rows)
    line(fmt::format("{:<{}}  {}", name + " = " + value, widest, from));
  for (const PerModelSettings& entry : per_model_settings(layers)) {
    std::string what;
    const auto add = [&](std::string_view name, const std::vector<std::string>& values) {
      if (!values.empty()) what += fmt::format(" {} {}", name, fmt::join(values, ","));
    };
    add("ignore", entry.ignore), add("select", entry.select), add("target", entry.targets);
    if (!entry.fail_on.empty()) add("fail-on", {entry.fail_on});
    line(fmt::format("per-model {}:{}  {}", entry.pattern, what, entry.place));
  }
  return out;
}

std::string config_json(const std::vector<ConfigLayer>& layers, const std::vector<OptionOrigin>& options) {
  Json files = Json::array(), rows = Json::array(), models = Json::array();
  for (const ConfigLayer& layer : layers)
    files.push_back({{"path", layer.file.path}, {"origin", origin_name(layer.origin)}});
  for (const OptionOrigin& option : options) {
    Json row = {{"command", option.command},
                {"option", option.option},
                {"value", value_of(option)},
                {"origin", option.from == From::standard       ? "default"
                           : option.from == From::command_line ? "command line"
                                                               : "file"}};
    row["place"] = option.place.empty() ? Json(nullptr) : Json(option.place);
    rows.push_back(row);
  }
  for (const PerModelSettings& entry : per_model_settings(layers))
    models.push_back({{"pattern", entry.pattern},
                      {"ignore", entry.ignore},
                      {"select", entry.select},
                      {"target", entry.targets},
                      {"fail-on", entry.fail_on.empty() ? Json(nullptr) : Json(entry.fail_on)},
                      {"place", entry.place}});
  const Json json = {
      {"version", program_version()}, {"files", files}, {"options", rows}, {"per_model", models}};
  return dumped(json, 2) + "\n";
}

}  // namespace md::app
