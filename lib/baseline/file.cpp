// A baseline as JSON: what render() writes people edit and merge, so it is read with care.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/base/json_depth.h"
#include "lib/base/nearest.h"
#include "lib/baseline/baseline.h"
#include "lib/report/report.h"

namespace md {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFileKind = "modeldoctor-baseline";
constexpr std::array<std::pair<std::string_view, BaselineEntry::Kind>, 3> kKinds = {
    {{"finding", BaselineEntry::Kind::finding},
     {"log line", BaselineEntry::Kind::log_line},
     {"prediction", BaselineEntry::Kind::prediction}}};

std::string_view kind_name(BaselineEntry::Kind kind) {
  for (const auto& [name, known] : kKinds)
    if (known == kind) return name;
  return "";
}

Json entry_json(const BaselineEntry& entry) {
  Json json = {{"model", entry.key.model}};
  if (entry.named) json["named"] = true;
  json["kind"] = kind_name(entry.kind);
  if (entry.kind == BaselineEntry::Kind::finding)
    json["rule"] = entry.key.rule, json["layer"] = entry.key.layer, json["operator"] = entry.key.op;
  json["occurrence"] = entry.key.occurrence;
  json["severity"] = word(entry.severity);
  if (entry.from_log) json["from_log"] = true;
  json["message"] = entry.message;
  json["reason"] = entry.reason, json["owner"] = entry.owner;
  json["until"] = entry.until.empty() ? Json(nullptr) : Json(entry.until);
  return json;
}

/// One entry with the words for its faults.
class EntryReader {
 public:
  EntryReader(const std::string& path, std::size_t number, const Json& json)
      : json_(json), where_(fmt::format("{}: entry {}", path, number)) {}

  Result<BaselineEntry> operator()() {
    if (!json_.is_object()) return input_error(where_ + ": expected an object with model, rule, reason, ...");
    if (const auto model = json_.find("model"); model != json_.end() && model->is_string())
      where_ += fmt::format(" ({})", model->get<std::string>());
    check_fields();
    BaselineEntry entry;
    const std::string kind = text("kind", false, "finding");
    const auto known =
        std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& one) { return one.first == kind; });
    if (known == kKinds.end())
      complain(fmt::format("kind: expected \"finding\", \"log line\" or \"prediction\", got \"{}\"", kind));
    else
      entry.kind = known->second;
    entry.key.model = text("model", true);
    entry.named = flag("named"), entry.from_log = flag("from_log");
    // Edited by hand it may be "./a.tflite".
    if (!entry.named && entry.key.model != "-") entry.key.model = normal(entry.key.model);
    if (entry.kind == BaselineEntry::Kind::finding)
      entry.key.rule = text("rule", true), entry.key.layer = text("layer"), entry.key.op = text("operator");
    entry.message = text("message", entry.kind != BaselineEntry::Kind::finding);
    if (entry.kind != BaselineEntry::Kind::finding) entry.key.rule = entry.message;
    entry.key.occurrence = occurrence();
    const std::string severity = text("severity", false, "fatal");
    if (const auto said = from_word<Severity>(severity))
      entry.severity = *said;
    else
      complain(fmt::format("severity: expected fatal, silent, perf or note, got \"{}\"", severity));
    entry.reason = text("reason"), entry.owner = text("owner"), entry.until = text("until");
    if (!entry.until.empty() && !is_date(entry.until))
      complain(fmt::format("until: expected a day such as \"2027-01-31\", or null for good, got \"{}\"",
                           entry.until));
    if (fault_) return input_error(*fault_);
    return entry;
  }

 private:
  void complain(const std::string& words) {
    if (!fault_) fault_ = where_ + ": " + words;
  }
  static std::string normal(const std::string& path) {
    return std::filesystem::path(path).lexically_normal().generic_string();
  }
  void check_fields() {
    static const std::vector<std::string> known = {
        "model",    "named",    "kind",    "rule",   "layer", "operator", "occurrence",
        "severity", "from_log", "message", "reason", "owner", "until"};
    for (const auto& [key, value] : json_.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        complain(fmt::format("has no field \"{}\"{}", key, did_you_mean(key, known)));
  }
  std::string text(const char* key, bool needed = false, const char* otherwise = "") {
    const auto at = json_.find(key);
    if (at != json_.end() && at->is_string()) {
      std::string found = at->get<std::string>();
      if (needed && found.empty()) complain(fmt::format("{}: is empty", key));
      return found;
    }
    if (at != json_.end() && !at->is_null())
      complain(fmt::format("{}: expected a text", key));
    else if (needed)
      complain(fmt::format("{} is missing", key));
    return otherwise;
  }
  bool flag(const char* key) {
    const auto at = json_.find(key);
    if (at == json_.end()) return false;
    if (!at->is_boolean()) complain(fmt::format("{}: expected true or false", key));
    return at->is_boolean() && at->get<bool>();
  }
  int occurrence() {
    const auto at = json_.find("occurrence");
    if (at == json_.end()) return 1;
    const bool fits =
        at->is_number_integer() && at->get<std::int64_t>() >= 1 && at->get<std::int64_t>() < 1 << 30;
    if (!fits) complain("occurrence: expected a number from 1");
    return fits ? at->get<int>() : 1;
  }

  const Json& json_;
  std::string where_;
  std::optional<std::string> fault_;
};

std::size_t line_of(std::string_view text, std::size_t byte) {
  return 1 +
         static_cast<std::size_t>(std::count(
             text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size())), '\n'));
}

/// What a merge left behind stands at the begin of a line.
std::size_t merge_mark(std::string_view text) {
  for (const std::string_view mark : {"<<<<<<< ", ">>>>>>> "}) {
    if (text.starts_with(mark)) return 0;
    const std::size_t at = text.find("\n" + std::string(mark));
    if (at != std::string_view::npos) return at + 1;
  }
  return std::string_view::npos;
}

Result<Json> parse_file(const std::string& path, std::string_view text) {
  if (const std::size_t mark = merge_mark(text); mark != std::string_view::npos)
    return input_error(
        fmt::format("{}:{}: a merge left its marks here; resolve it (the entries of both sides "
                    "may stay, in any order)",
                    path, line_of(text, mark)));
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {  // the only way to learn where; it stays in this function
    return input_error(fmt::format("{}:{}: not JSON here (a missing or a spare comma?)", path,
                                   line_of(text, error.byte > 0 ? error.byte - 1 : 0)));
  }
}

}  // namespace

Result<Baseline> Baseline::read(const std::string& path, std::string_view text) {
  if (const std::size_t at = too_deep_json(text); at != std::string_view::npos)
    return input_error(
        fmt::format("{}:{}: byte {}: nests deeper than {} levels; expected a baseline or a "
                    "diagnosis that modeldoctor wrote",
                    path, line_of(text, at), at, kMaxJsonDepth));
  Baseline baseline(path);
  const auto as_diagnosis = [&]() -> Result<Baseline> {
    auto runs = read_diagnoses(path, text);
    if (!runs) return tl::make_unexpected(runs.error());
    baseline.is_diagnosis_ = true;
    for (const Diagnosis& run : *runs) baseline.add_diagnosis(run);
    baseline.tidy();
    return baseline;
  };
  // JSON Lines and files that are neither are told what they should be there.
  if (text.find(kFileKind) == std::string_view::npos) return as_diagnosis();
  auto json = parse_file(path, text);
  if (!json) return tl::make_unexpected(json.error());
  const auto has = [&](const char* key, std::string_view start) {
    const auto at = json->is_object() ? json->find(key) : json->end();
    return json->is_object() && at != json->end() && at->is_string() &&
           at->get_ref<const std::string&>().starts_with(start);
  };
  if (!has("kind", kFileKind)) return as_diagnosis();
  if (!has("schema_version", "1."))
    return input_error(
        fmt::format("{}: expected \"schema_version\": \"1.x\"; a newer modeldoctor wrote it", path));
  const auto entries = json->find("entries");
  if (entries == json->end() || !entries->is_array())
    return input_error(fmt::format("{}: expected a list called \"entries\"", path));
  std::size_t number = 0;
  for (const Json& one : *entries) {
    auto entry = EntryReader(path, ++number, one)();
    if (!entry) return tl::make_unexpected(entry.error());
    baseline.entries_.push_back(std::move(*entry));
  }
  baseline.tidy();
  return baseline;
}

std::string Baseline::render() const {
  Json all = {{"kind", kFileKind}, {"schema_version", "1.0"}, {"entries", Json::array()}};
  for (const BaselineEntry& entry : entries_) all["entries"].push_back(entry_json(entry));
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace md
