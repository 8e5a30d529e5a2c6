#include "lib/diagnose/describe.h"

#include <fmt/format.h>

#include "lib/op/dialect.h"
#include "lib/rule/page/log_words.h"
#include "lib/rule/page/page.h"

namespace md {
namespace {

// A site of hundreds of nodes (an unrolled loop) is named by its first ones; the count is in the message.
constexpr std::size_t kMaxLocations = 32;

std::string section(const Rule& rule, std::string_view heading) {
  const auto found = rule.sections.find(heading);
  return found == rule.sections.end() ? "" : dedented(found->second);
}

std::string documentation(const Rule& rule) {
  if (!rule.docs.empty()) return rule.docs.front();
  return rule.references.empty() ? "" : rule.references.front();
}

Finding from_rule(const Rule& rule) {
  Finding finding;
  finding.rule = rule.id;
  finding.name = rule.name;
  finding.severity = rule.severity;
  finding.fault = rule.fault;
  finding.message = rule.summary;
  finding.docs = documentation(rule);
  return finding;
}

FindingState state_of(const DetectResult& result) {
  switch (result.state) {
    case DetectResult::State::matched:
      return FindingState::matched;
    case DetectResult::State::declined:
      return FindingState::declined;
    case DetectResult::State::advice:
      break;
  }
  return FindingState::advice;
}

}  // namespace

ReportedProof report(const Proof& proof) {
  ReportedProof reported;
  reported.method = proof.method;
  reported.dtype = name(proof.dtype);
  reported.samples = proof.samples;
  reported.max_abs = proof.max_abs, reported.max_rel = proof.max_rel, reported.max_ulp = proof.max_ulp;
  reported.equal = proof.equal;
  reported.nonfinite = proof.nonfinite, reported.counterexample = proof.counterexample,
  reported.note = proof.note;
  return reported;
}

std::vector<std::string> mendable_formats(const Rule& rule) {
  std::vector<std::string> formats;
  if (rule.applicability == Applicability::manual || (!rule.detector && rule.rewrites.empty()))
    return formats;
  for (const Dialect* known : dialects())
    if (!known->lowered && rule.looks_at(*known)) formats.emplace_back(known->name);
  return formats;
}

std::vector<std::string> recipe_behind_fix(const Rule& rule) {
  for (const auto& [heading, prose] : rule.sections) {
    if (!heading.starts_with("Save, fix")) continue;
    std::vector<std::string> lines;
    bool behind = false;
    const std::string text = dedented(prose);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      if (line.find("# modeldoctor fix") != std::string::npos)
        behind = true;
      else if (behind && line.find_first_not_of(' ') != std::string::npos)
        lines.push_back(line.substr(line.find_first_not_of(' ')));
    }
    return lines;
  }
  return {};
}

ReportedLocation locate(const Model& model, int graph_index, NodeId id, ValueId value_id) {
  ReportedLocation location;
  location.graph = graph_index;
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  if (id >= 0 && static_cast<std::size_t>(id) < graph.nodes.size()) {
    const Node& node = graph.node(id);
    location.node = node.origin;
    location.op = shown_name(graph, node);
    location.layer = node.layer;
    if (node.origin == none_id) location.origin = node.origins;
    for (const SourceLocation& source : node.source)
      location.source.push_back({source.file, source.line, source.function});
    if (value_id < 0)
      for (const ValueId out : node.outputs)
        if (value_id < 0) value_id = out;
  }
  if (value_id >= 0 && static_cast<std::size_t>(value_id) < graph.values.size()) {
    const Value& value = graph.value(value_id);
    location.value = value.name;
    location.shape = shape_text(value.shape);
    location.dtype = name(value.dtype);
  }
  return location;
}

Finding describe(const FoundSite& site, const Model& model, int round, bool assumed) {
  Finding finding = from_rule(*site.rule);
  finding.severity = site.severity;
  finding.state = state_of(site.result);
  if (!site.result.message.empty()) finding.message = site.result.message;
  if (!site.target.empty()) finding.message += fmt::format(" [{}]", site.target);
  finding.reason = site.result.reason;
  finding.at_source =
      site.result.at_source.empty() ? section(*site.rule, "At the source") : site.result.at_source;
  finding.attribution = site.attribution;
  finding.round = round;
  finding.assumed = assumed;
  for (const NodeId id : site.result.nodes) {
    if (finding.locations.size() == kMaxLocations) break;
    const bool first = finding.locations.empty();
    finding.locations.push_back(locate(model, site.graph, id, first ? site.result.value : none_id));
  }
  finding.log = site.evidence;
  return finding;
}

Finding describe_log_hit(const LogEvidence& evidence, std::size_t which, int log_index, const Model* model) {
  const Rule& rule = *evidence.rules[which];
  const LogWords words = words_from_log(rule, evidence.captures[which]);
  Finding finding = from_rule(rule);
  finding.state = FindingState::advice;
  if (!words.message.empty()) finding.message = words.message;
  finding.reason = words.reason;
  if (!model) finding.mendable_in = mendable_formats(rule);
  finding.at_source = words.at_source.empty() ? section(rule, "At the source") : words.at_source;
  finding.log.push_back(log_index);
  if (evidence.record->failure) finding.stage = evidence.record->told().stage;
  finding.attribution = evidence.attribution;
  if (model)
    for (const NodePlace& place : evidence.nodes) {
      if (finding.locations.size() == kMaxLocations) break;
      finding.locations.push_back(locate(*model, place.graph, place.node, none_id));
    }
  return finding;
}

}  // namespace md
