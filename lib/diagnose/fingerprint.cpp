#include "lib/diagnose/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/base/relative_path.h"
#include "lib/op/dialect.h"

namespace md {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Converters and fixes number what they make ("cases.L;5", "cases.L;5@18"), and one more node renumbers all.
std::string without_numbers(const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    text += name[i];
    if (name[i] != ';' && name[i] != '@') continue;
    while (i + 1 < name.size() && is_digit(name[i + 1])) ++i;
  }
  return text;
}

/// An exported program numbers its values by their operator: "add_5", "add_6".
std::string without_last_number(std::string name) {
  while (!name.empty() && is_digit(name.back())) name.pop_back();
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

/// The layer, or where the format has none what the value's name says of it.
std::string layer_of(const Diagnosis& diagnosis, const ReportedLocation& at) {
  if (!at.layer.empty()) return at.layer;
  const Dialect* dialect = diagnosis.model ? find_dialect(diagnosis.model->format) : nullptr;
  const std::string name = without_numbers(at.value);
  return dialect && dialect->numbered_names ? without_last_number(name) : name;
}

/// Where in the input file a finding is; for a node that a fix made, where that came from.
auto graph_order(const Finding& finding) {
  const ReportedLocation* at = finding.locations.empty() ? nullptr : &finding.locations.front();
  const std::int32_t node = !at ? -1 : at->node >= 0 ? at->node : at->origin.empty() ? -1 : at->origin[0];
  return std::tuple(finding.round, at ? at->graph : 0, node, at ? at->value : std::string(),
                    finding.log.empty() ? -1 : finding.log.front());
}

std::uint64_t fnv1a(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return (hash ^ 0xff) * 0x100000001b3U;  // a separator, so that ("ab","c") differs from ("a","bc")
}

}  // namespace

std::string key_model(const Diagnosis& diagnosis, int log, const std::string& folder) {
  if (!diagnosis.stated_name.empty()) return diagnosis.stated_name;
  if (diagnosis.model) return relative_path(diagnosis.model->path, folder);
  const std::size_t index = log < 0 ? 0 : static_cast<std::size_t>(log);
  return index < diagnosis.log.size() ? relative_path(diagnosis.log[index].path, folder) : "";
}

std::vector<KeyedFinding> finding_keys(const Diagnosis& diagnosis, const std::string& folder) {
  std::vector<const Finding*> findings;
  for (const Finding& finding : diagnosis.findings) findings.push_back(&finding);
  for (const AcceptedFinding& accepted : diagnosis.accepted) findings.push_back(&accepted.finding);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding* a, const Finding* b) { return graph_order(*a) < graph_order(*b); });
  std::map<FindingKey, int> seen;
  std::vector<KeyedFinding> keyed;
  for (const Finding* finding : findings) {
    FindingKey key{.model = key_model(diagnosis, finding->log.empty() ? -1 : finding->log.front(), folder),
                   .rule = finding->rule,
                   .layer = {},
                   .op = {},
                   .occurrence = 0};
    if (!finding->locations.empty()) {
      key.layer = layer_of(diagnosis, finding->locations.front());
      key.op = finding->locations.front().op;
    }
    const int occurrence = ++seen[key];
    key.occurrence = occurrence;
    keyed.push_back({finding, std::move(key)});
  }
  return keyed;
}

std::string fingerprint(const FindingKey& key) {
  std::uint64_t hash = fnv1a(key.model, 0xcbf29ce484222325U);
  for (const std::string* part : {&key.rule, &key.layer, &key.op}) hash = fnv1a(*part, hash);
  return fmt::format("{:016x}", fnv1a(std::to_string(key.occurrence), hash));
}

void set_fingerprints(Diagnosis& diagnosis) {
  std::map<const Finding*, std::string> fingerprints;
  for (const KeyedFinding& keyed : finding_keys(diagnosis, "."))
    fingerprints[keyed.finding] = fingerprint(keyed.key);
  for (Finding& finding : diagnosis.findings) finding.fingerprint = fingerprints[&finding];
}

}  // namespace md
