// Diagnoses back from JSON, by the fields of fields.h: for `report`, and for baselines.
#include <fmt/format.h>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "lib/base/json_depth.h"
#include "lib/report/fields.h"
#include "lib/report/report.h"

namespace md {
namespace {

using namespace reporters;
using Json = nlohmann::json;

const Json& part(const Json& json, std::string_view key) {
  static const Json nothing;
  const auto at = json.is_object() ? json.find(std::string(key)) : json.end();
  return json.is_object() && at != json.end() ? *at : nothing;
}

template <class T>
bool read_object(const Json& json, T& value);

// What is of another type than expected keeps its default: a report of a damaged file shows less, and never
// crashes. True: it was read.
bool read_value(const Json& json, std::string& value) {
  if (json.is_string()) value = json.get<std::string>();
  return json.is_string();
}
bool read_value(const Json& json, bool& value) {
  if (json.is_boolean()) value = json.get<bool>();
  return json.is_boolean();
}
bool read_value(const Json& json, double& value) {
  if (json.is_number()) value = json.get<double>();
  const std::string said = json.is_string() ? json.get<std::string>() : "";
  if (said == "inf") value = std::numeric_limits<double>::infinity();
  if (said == "-inf") value = -std::numeric_limits<double>::infinity();
  if (said == "nan") value = std::numeric_limits<double>::quiet_NaN();
  return json.is_number() || said == "inf" || said == "-inf" || said == "nan";
}
bool read_value(const Json& json, SeverityCounts& counts) {
  if (!json.is_object()) return false;
  for (const auto& [key, value] : json.items())
    if (const auto severity = from_word<Severity>(key); severity && value.is_number_integer())
      counts[*severity] = value.get<int>();
  return true;
}

template <class T>
bool read_value(const Json& json, T& value) {
  if constexpr (std::is_enum_v<T>) {
    const auto known = json.is_string() ? from_word<T>(json.get<std::string>()) : std::nullopt;
    value = known.value_or(value);
    return known.has_value();
  } else if constexpr (std::is_integral_v<T>) {
    if (json.is_number_integer()) value = static_cast<T>(json.get<std::int64_t>());
    return json.is_number_integer();
  } else {
    return read_object(json, value);
  }
}
template <class T>
bool read_value(const Json& json, std::optional<T>& value) {
  T found;
  if (read_value(json, found)) value = std::move(found);
  return value.has_value();
}
template <class T>
bool read_value(const Json& json, std::vector<T>& values) {
  if (!json.is_array()) return false;
  for (const Json& item : json)
    if (T value; read_value(item, value)) values.push_back(std::move(value));
  return true;
}

class Reader {
 public:
  template <class T>
  using Of = T;

  explicit Reader(const Json& json) : json_(json) {}
  template <class T>
  void field(std::string_view name, T& value, How = kPlain, std::string_view = "") {
    read_value(part(json_, name), value);
  }
  void constant(std::string_view, std::string_view, std::string_view = "") {}
  template <class T>
  void nullable(std::string_view name, T& value, bool, std::string_view = "") {
    read_value(part(json_, name), value);
  }
  template <class T, class Set>
  void computed(std::string_view name, bool, T value, const Set& set, std::string_view = "") {
    if (read_value(part(json_, name), value)) set(value);
  }
  template <class Fields>
  void object(std::string_view name, How, bool, const Fields& nested) {
    Reader inner(part(json_, name));
    nested(inner);
  }

 private:
  const Json& json_;
};

template <class T>
bool read_object(const Json& json, T& value) {
  if (!json.is_object()) return false;
  Reader reader(json);
  fields(reader, value);
  return true;
}

/// Lines of a log are named by number: those that are not there are left out.
void drop_unknown_lines(Diagnosis& d) {
  const auto unknown = [&](int index) {
    return index < 0 || static_cast<std::size_t>(index) >= d.log.size();
  };
  std::erase_if(d.unexplained, unknown);
  for (Finding& finding : d.findings) std::erase_if(finding.log, unknown);
  for (AcceptedFinding& accepted : d.accepted) std::erase_if(accepted.finding.log, unknown);
  for (AcceptedLine& line : d.accepted_lines)
    if (unknown(line.log)) line.log = -1;
}

Status collect(const Json& json, const std::string& path, std::vector<Diagnosis>& runs) {
  if (json.is_object() && json.contains("runs") && json["runs"].is_array()) {
    for (const Json& run : json["runs"])
      if (auto status = collect(run, path, runs); !status) return status;
    return {};
  }
  std::string version;
  read_value(part(json, "schema_version"), version);
  if (!version.starts_with("1."))
    return input_error(
        fmt::format("{}: not a diagnosis of this program: expected \"schema_version\": \"1.x\"", path));
  read_object(json, runs.emplace_back());
  drop_unknown_lines(runs.back());
  return {};
}

/// Discarded where it is no JSON, or nests so deep that walking it would end the stack.
Json parse(std::string_view text) {
  if (too_deep_json(text) != std::string_view::npos) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

}  // namespace

Result<std::vector<Diagnosis>> read_diagnoses(const std::string& path, std::string_view text) {
  std::vector<Diagnosis> runs;
  const Json whole = parse(text);
  if (!whole.is_discarded()) {
    if (auto status = collect(whole, path, runs); !status) return tl::make_unexpected(status.error());
    return runs;
  }
  int line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    ++line;
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view row = text.substr(begin, end - begin);
    begin = end + 1;
    if (row.find_first_not_of(" \r\t") == std::string_view::npos) continue;
    if (too_deep_json(row) != std::string_view::npos)
      return input_error(
          fmt::format("{}:{}: nests deeper than {} levels; expected a diagnosis that modeldoctor wrote", path,
                      line, kMaxJsonDepth));
    const Json json = parse(row);
    if (json.is_discarded())
      return input_error(
          fmt::format("{}:{}: not JSON; expected a diagnosis that modeldoctor wrote", path, line));
    if (auto status = collect(json, path, runs); !status) return tl::make_unexpected(status.error());
  }
  if (runs.empty())
    return input_error(fmt::format("{}: empty; expected a diagnosis that modeldoctor wrote", path));
  return runs;
}

}  // namespace md
