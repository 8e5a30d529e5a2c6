// Diagnoses back from JSON: for `report`, and for baselines.
#include <fmt/format.h>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/base/json_depth.h"
#include "lib/report/report.h"

namespace md {
namespace {

using Json = nlohmann::json;

// Fields of another type than expected read as their default: a report of a damaged file shows less, and
// never crashes.
std::string text(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}
std::int64_t integer(const Json& json, const char* key, std::int64_t otherwise = 0) {
  const auto at = json.find(key);
  return at != json.end() && at->is_number_integer() ? at->get<std::int64_t>() : otherwise;
}
bool flag(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_boolean() && at->get<bool>();
}
double number(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end()) return 0;
  if (at->is_number()) return at->get<double>();
  const std::string word = at->is_string() ? at->get<std::string>() : "";
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  return word == "nan" ? std::numeric_limits<double>::quiet_NaN() : 0;
}
const Json& part(const Json& json, const char* key) {
  static const Json nothing;
  const auto at = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && at != json.end() ? *at : nothing;
}
std::vector<std::string> texts(const Json& json, const char* key) {
  std::vector<std::string> values;
  for (const Json& item : part(json, key))
    if (item.is_string()) values.push_back(item.get<std::string>());
  return values;
}
template <class Int>
std::vector<Int> integers(const Json& json, const char* key) {
  std::vector<Int> values;
  for (const Json& item : part(json, key))
    if (item.is_number_integer()) values.push_back(item.get<Int>());
  return values;
}

ReportedLocation read_location(const Json& json) {
  ReportedLocation at;
  at.graph = static_cast<int>(integer(json, "graph"));
  at.node = static_cast<std::int32_t>(integer(json, "node", -1));
  at.op = text(json, "op"), at.value = text(json, "value"), at.layer = text(json, "layer");
  at.shape = text(json, "shape"), at.dtype = text(json, "dtype");
  at.origin = integers<std::int32_t>(json, "origin");
  for (const Json& source : part(json, "source"))
    if (source.is_object())
      at.source.push_back(
          {text(source, "file"), static_cast<int>(integer(source, "line")), text(source, "function")});
  return at;
}

ReportedFix read_fix(const Json& json) {
  ReportedFix fix;
  fix.title = text(json, "title"), fix.applicability = text(json, "applicability");
  fix.exactness = text(json, "exactness"), fix.reason = text(json, "reason");
  fix.applied = flag(json, "applied");
  fix.needs_asking = flag(json, "needs_asking");
  const Json& cost = part(json, "cost");
  fix.cost = {integer(cost, "ops"), integer(cost, "bytes"), integer(cost, "macs")};
  for (const Json& p : part(json, "proofs")) {
    if (!p.is_object()) continue;
    ReportedProof proof;
    proof.method = text(p, "method"), proof.dtype = text(p, "dtype"), proof.samples = integer(p, "samples");
    proof.max_abs = number(p, "max_abs"), proof.max_rel = number(p, "max_rel"),
    proof.max_ulp = number(p, "max_ulp");
    proof.equal = flag(p, "equal");
    proof.nonfinite = text(p, "nonfinite"), proof.counterexample = text(p, "counterexample"),
    proof.note = text(p, "note");
    fix.proofs.push_back(std::move(proof));
  }
  return fix;
}

Finding read_finding(const Json& json) {
  Finding finding;
  finding.rule = text(json, "rule"), finding.name = text(json, "name"),
  finding.severity = text(json, "severity");
  finding.state = text(json, "state"), finding.message = text(json, "message"),
  finding.reason = text(json, "reason");
  finding.attribution = text(json, "attribution"), finding.docs = text(json, "docs");
  finding.at_source = text(json, "at_source"), finding.fingerprint = text(json, "fingerprint");
  finding.round = static_cast<int>(integer(json, "round", 1));
  finding.assumed = flag(json, "assumed");
  finding.fault = text(json, "fault");
  finding.stage = text(json, "stage");
  finding.caused_by = texts(json, "caused_by");
  finding.mendable_in = texts(json, "mendable_in");
  finding.log = integers<int>(json, "log");
  for (const Json& at : part(json, "locations"))
    if (at.is_object()) finding.locations.push_back(read_location(at));
  for (const Json& fix : part(json, "fixes"))
    if (fix.is_object()) finding.fixes.push_back(read_fix(fix));
  finding.mended = json.contains("open") && !flag(json, "open");
  return finding;
}

void read_counts(const Json& json, std::map<std::string, int>& counts) {
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items())
    if (value.is_number_integer()) counts[key] = value.get<int>();
}

void read_log(const Json& json, Diagnosis& d) {
  for (const Json& r : part(json, "log")) {
    if (!r.is_object()) continue;
    d.log.push_back({.path = text(r, "path"),
                     .text = text(r, "text"),
                     .tool = text(r, "tool"),
                     .line = static_cast<int>(integer(r, "line")),
                     .rules = texts(r, "rules"),
                     .benign = flag(r, "benign"),
                     .failure = static_cast<int>(integer(r, "failure")),
                     .stage = text(r, "stage"),
                     .op = text(r, "op"),
                     .node = text(r, "node"),
                     .condition = text(r, "condition"),
                     .status = text(r, "status"),
                     .source = text(r, "source"),
                     .frame = text(r, "frame"),
                     .shown = text(r, "shown"),
                     .consequences = integers<int>(r, "consequences")});
  }
  const auto valid = [&](int index) { return index >= 0 && static_cast<std::size_t>(index) < d.log.size(); };
  for (const int index : integers<int>(json, "unexplained"))
    if (valid(index)) d.unexplained.push_back(index);
  for (Finding& finding : d.findings) std::erase_if(finding.log, [&](int index) { return !valid(index); });
}

Suppression read_suppression(const Json& json) {
  return {.baseline = text(json, "baseline"),
          .entry = text(json, "entry"),
          .reason = text(json, "reason"),
          .owner = text(json, "owner"),
          .until = text(json, "until")};
}

/// Behind the log, whose records the lines name.
void read_accepted(const Json& json, Diagnosis& d) {
  d.stated_name = text(json, "model_name");
  const Json& suppressed = part(json, "suppressed");
  const auto valid = [&](int index) { return index >= 0 && static_cast<std::size_t>(index) < d.log.size(); };
  for (const Json& finding : part(suppressed, "findings")) {
    if (!finding.is_object()) continue;
    d.accepted.push_back({read_finding(finding), read_suppression(part(finding, "suppression"))});
    std::erase_if(d.accepted.back().finding.log, [&](int index) { return !valid(index); });
  }
  for (const Json& line : part(suppressed, "unexplained")) {
    if (!line.is_object()) continue;
    const std::int64_t index = integer(line, "log", -1);
    const bool known = index >= 0 && index < static_cast<std::int64_t>(d.log.size());
    d.accepted_lines.push_back({known ? static_cast<int>(index) : -1, text(line, "text"),
                                read_suppression(part(line, "suppression"))});
  }
}

std::optional<ReportedDifference> read_difference(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  return ReportedDifference{integer(json, "samples"), number(json, "max_abs"), number(json, "max_rel")};
}

ReportedVerification read_verification(const Json& json) {
  ReportedVerification v;
  v.runtime = text(json, "runtime"), v.note = text(json, "note"), v.samples = integer(json, "samples");
  v.max_abs = number(json, "max_abs"), v.max_rel = number(json, "max_rel");
  v.ordinary = read_difference(part(json, "ordinary"));
  v.extreme = read_difference(part(json, "extreme"));
  v.equal = flag(json, "equal"), v.numbers_equal = flag(json, "numbers_equal");
  v.interface = texts(json, "interface");
  if (json.contains("argmax_agreement") && !json["argmax_agreement"].is_null())
    v.argmax_agreement = number(json, "argmax_agreement");
  return v;
}

Diagnosis read_diagnosis(const Json& json) {
  Diagnosis d;
  d.command = text(json, "command"), d.status = text(json, "status");
  d.exit_code = static_cast<int>(integer(json, "exit_code"));
  d.rules_version = text(part(json, "tool"), "rules_version");
  if (const Json& m = part(json, "model"); m.is_object())
    d.model = ReportedModel{text(m, "path"), text(m, "format"), text(m, "sha256"),
                            static_cast<std::uint64_t>(integer(m, "bytes")),
                            static_cast<std::size_t>(integer(m, "nodes"))};
  for (const Json& t : part(json, "target"))
    if (t.is_object())
      d.targets.push_back(
          {text(t, "name"), text(t, "version"), text(t, "table"), text(t, "source"), flag(t, "assumed")});
  if (const Json& p = part(json, "prediction"); p.is_object()) {
    d.prediction = ReportedPrediction{text(p, "verdict"), text(p, "verdict_after"), {}};
    for (const Json& r : part(p, "records"))
      if (r.is_object())
        d.prediction->records.push_back({text(r, "text"), static_cast<int>(integer(r, "graph")),
                                         static_cast<std::int32_t>(integer(r, "node", -1)),
                                         flag(r, "hidden")});
  }
  for (const Json& finding : part(json, "findings"))
    if (finding.is_object()) d.findings.push_back(read_finding(finding));
  read_log(json, d);
  read_accepted(json, d);
  d.unexplained_predictions = texts(json, "unexplained_predictions");
  d.ruled_out = texts(json, "ruled_out"), d.notes = texts(json, "notes");
  if (const Json& v = part(json, "verification"); v.is_object()) d.verification = read_verification(v);
  d.dry_run = flag(json, "dry_run");
  d.not_compared = text(json, "not_compared");
  d.options = texts(json, "options"), d.recipe = texts(json, "recipe");
  if (const Json& o = part(json, "output"); o.is_object())
    d.output =
        ReportedOutput{text(o, "path"), text(o, "sha256"), static_cast<std::uint64_t>(integer(o, "bytes"))};
  const Json& summary = part(json, "summary");
  read_counts(part(summary, "before"), d.before);
  read_counts(part(summary, "after"), d.after);
  d.fixed = static_cast<int>(integer(summary, d.dry_run ? "would_fix" : "fixed"));
  d.error_code = text(part(json, "error"), "code"), d.error_message = text(part(json, "error"), "message");
  return d;
}

Status collect(const Json& json, const std::string& path, std::vector<Diagnosis>& runs) {
  if (json.is_object() && json.contains("runs") && json["runs"].is_array()) {
    for (const Json& run : json["runs"])
      if (auto status = collect(run, path, runs); !status) return status;
    return {};
  }
  const std::string version = json.is_object() ? text(json, "schema_version") : "";
  if (!version.starts_with("1."))
    return input_error(
        fmt::format("{}: not a diagnosis of this program: expected \"schema_version\": \"1.x\"", path));
  runs.push_back(read_diagnosis(json));
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
