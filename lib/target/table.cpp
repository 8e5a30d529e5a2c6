#include "lib/target/table.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/embedded.h"
#include "lib/op/dialect.h"

namespace md {
namespace {

using Json = nlohmann::json;

struct Reader {
  std::string_view path;
  std::map<std::string, CheckList, std::less<>> sequences;

  tl::unexpected<Error> error(std::string_view place, std::string_view what) const {
    return input_error(fmt::format("{}: {}: {}", path, place, what));
  }

  static std::optional<AttrValue> parameter(const Json& json) {
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_integer()) return json.get<std::int64_t>();
    if (json.is_number()) return json.get<double>();
    if (json.is_string()) return json.get<std::string>();
    if (!json.is_array()) return std::nullopt;
    if (std::all_of(json.begin(), json.end(), [](const Json& e) { return e.is_number_integer(); }))
      return json.get<std::vector<std::int64_t>>();
    if (std::all_of(json.begin(), json.end(), [](const Json& e) { return e.is_string(); }))
      return json.get<std::vector<std::string>>();
    return std::nullopt;
  }

  /// All of a check but the function that its name stands for.
  Result<TableCheck> parameters(std::string_view place, const Json& json) const {
    TableCheck check;
    for (const auto& [key, value] : json.items()) {
      if (key == "check" && value.is_string()) {
        check.spec.name = value.get<std::string>();
      } else if (key == "versions") {
        const auto range = value.is_string() ? VersionRange::parse(value.get<std::string>()) : std::nullopt;
        if (!range) return error(place, "\"versions\" is no range such as \">=2.1.5 <2.3\"");
        check.spec.versions = *range;
      } else if (key == "crash" && value.is_boolean()) {
        check.crash = value.get<bool>();
      } else if (const auto parsed = parameter(value)) {
        check.spec.parameters.set(key, *parsed);
      } else {
        return error(place, fmt::format("parameter \"{}\" is neither a value nor a list of values", key));
      }
    }
    return check;
  }

  Result<TableCheck> check(std::string_view place, const Json& json) const {
    auto check = parameters(place, json);
    if (!check) return check;
    check->function = find_check(check->spec.name);
    if (!check->function) return error(place, fmt::format("unknown check \"{}\"", check->spec.name));
    return check;
  }

  /// A list whose elements are checks, or names of sequences that are put in their place.
  Result<CheckList> list(std::string_view place, const Json& json) const {
    CheckList checks;
    if (!json.is_array()) return error(place, "expected a list of checks");
    for (const Json& element : json) {
      if (element.is_string()) {
        const auto found = sequences.find(element.get<std::string>());
        if (found == sequences.end())
          return error(place, fmt::format("unknown sequence \"{}\"", element.get<std::string>()));
        checks.insert(checks.end(), found->second.begin(), found->second.end());
      } else if (element.is_object()) {
        auto one = check(place, element);
        if (!one) return tl::make_unexpected(one.error());
        checks.push_back(std::move(*one));
      } else {
        return error(place, "a check is an object, a sequence a name");
      }
    }
    return checks;
  }

  Status section(const Json& json, std::string_view key,
                 std::map<std::string, CheckList, std::less<>>& out) const {
    if (!json.contains(key)) return {};
    const Json& entries = json[std::string(key)];
    for (const auto& [names, value] : entries.items()) {
      auto checks = list(fmt::format("{} \"{}\"", key, names), value);
      if (!checks) return tl::make_unexpected(checks.error());
      for (std::size_t at = 0; at < names.size();) {  // "SUB DIV POW": operators that share their checks
        const std::size_t end = std::min(names.find(' ', at), names.size());
        if (!out.emplace(names.substr(at, end - at), *checks).second)
          return error(key, fmt::format("\"{}\" occurs twice", names.substr(at, end - at)));
        at = end + 1;
      }
    }
    return {};
  }
};

}  // namespace

const CheckList& Table::checks_for(const Graph& graph, const Node& node) const {
  const auto in = [](const auto& section, const std::string& name,
                     const CheckList& otherwise) -> const CheckList& {
    const auto found = section.find(name);
    return found == section.end() ? otherwise : found->second;
  };
  if (const OpSpec* row = row_of(graph, node); row && row->named)
    return node.op == graph.dialect->custom_operator ? in(customs, node.custom, unknown_custom)
                                                     : in(composites, node.custom, unknown_composite);
  return in(operators, node.op, unknown_operator);
}

Result<Table> parse_table(std::string_view path, std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  Reader reader{path, {}};
  if (!json.is_object()) return reader.error("file", "no JSON object");
  Table table;
  table.target = json.value("target", "");
  if (table.target.empty()) return reader.error("target", "missing");
  table.signature_names = json.value("signature_names", false);
  table.static_only = json.value("static_only", "");
  const Json versions = json.value("versions", Json::array());
  for (const Json& version : versions) {
    const auto parsed = version.is_string() ? Version::parse(version.get<std::string>()) : std::nullopt;
    if (!parsed) return reader.error("versions", "expected a list of texts such as \"2.3.0\"");
    table.versions.push_back(*parsed);
  }
  if (table.versions.empty()) return reader.error("versions", "missing");
  std::sort(table.versions.begin(), table.versions.end());
  const Json formats = json.value("formats", Json::array());
  for (const Json& format : formats) {
    if (!format.is_string() || !find_dialect(format.get<std::string>()))
      return reader.error("formats", fmt::format("expected a list of names: {}", dialect_names()));
    table.formats.push_back(format.get<std::string>());
  }
  if (table.formats.empty()) return reader.error("formats", "missing");
  const Json types = json.value("types", Json::object());
  for (const auto& [name, list] : types.items())
    for (const Json& type : list)
      table.types[name].push_back(type.is_string() ? type.get<std::string>() : "");
  table.first_ends = json.value("first_ends", false);
  const Json whole = json.value("model", Json::array());
  for (const Json& element : whole) {
    auto check = reader.parameters("model", element);
    if (!check) return tl::make_unexpected(check.error());
    const ModelCheckFunction function = find_model_check(check->spec.name);
    if (!function) return reader.error("model", fmt::format("unknown check \"{}\"", check->spec.name));
    table.model_checks.push_back({std::move(check->spec), function});
  }
  // Sequences may use earlier ones; a list of pairs keeps their order.
  const Json sequences = json.value("sequences", Json::array());
  for (const Json& sequence : sequences) {
    const std::string name = sequence.value("name", "");
    auto checks = reader.list(fmt::format("sequence \"{}\"", name), sequence.value("checks", Json()));
    if (!checks) return tl::make_unexpected(checks.error());
    reader.sequences.emplace(name, std::move(*checks));
  }
  for (const auto& [key, section] :
       {std::pair{"operators", &table.operators}, std::pair{"customs", &table.customs},
        std::pair{"composites", &table.composites}, std::pair{"kernels", &table.kernels}})
    if (auto status = reader.section(json, key, *section); !status)
      return tl::make_unexpected(status.error());
  for (const auto& [key, list] :
       {std::pair{"every_node", &table.every_node}, std::pair{"unknown_operator", &table.unknown_operator},
        std::pair{"unknown_custom", &table.unknown_custom},
        std::pair{"unknown_composite", &table.unknown_composite}}) {
    auto checks = reader.list(key, json.value(key, Json::array()));
    if (!checks) return tl::make_unexpected(checks.error());
    *list = std::move(*checks);
  }
  return table;
}

const Table* embedded_table(std::string_view target) {
  // A program asks for one or two targets, and a table may have thousands of checks.
  static std::map<std::string, std::unique_ptr<const Table>, std::less<>> read;
  static std::mutex guard;
  const std::lock_guard lock(guard);
  if (const auto known = read.find(target); known != read.end()) return known->second.get();
  const std::string name = fmt::format("/{}.constraints.json", target);
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("lib/runtime/") || !file.path.ends_with(name)) continue;
    auto table = parse_table(file.path, file.text);
    assert(table.has_value() && table->target == target);
    if (!table) return nullptr;
    return read.emplace(target, std::make_unique<const Table>(std::move(*table))).first->second.get();
  }
  return nullptr;
}

}  // namespace md
