#include "lib/diagnose/records.h"

#include <fmt/format.h>

#include "lib/op/dialect.h"

namespace md {
namespace {

/// What a failing record says besides its words.
void tell_failure(const Record& from, ReportedRecord& to) {
  to.failure = from.failure_number;
  to.stage = from.told().stage;
  to.op = from.told().op, to.node = from.told().node, to.condition = from.told().condition,
  to.status = from.told().status;
  to.source = from.told().source, to.frame = from.told().frame, to.shown = from.told().decisive;
  to.consequences = from.told().consequences;
}

}  // namespace

std::vector<ReportedTarget> reported_targets(const std::vector<const Target*>& targets) {
  std::vector<ReportedTarget> reported;
  for (const Target* target : targets) {
    const bool table = target->has_table();
    reported.push_back({.name = target->name(),
                        .version = target->version.text(),
                        .table = table ? target->table.text() : "",
                        .source = from_word<TargetSource>(target->source).value_or(TargetSource::usual),
                        .assumed = target->assumed || (table && target->table != target->version)});
  }
  return reported;
}

std::vector<ReportedRecord> reported_records(const std::vector<LogEvidence>& evidence) {
  std::vector<ReportedRecord> reported;
  for (const LogEvidence& item : evidence) {
    const Record& record = *item.record;
    reported.push_back({.path = item.path,
                        .text = record.message,
                        .tool = record.tool,
                        .line = record.line_main > 0 ? record.line_main : record.line_begin,
                        .rules = {},
                        .benign = record.benign});
    if (record.failure) tell_failure(record, reported.back());
    for (const Rule* rule : item.rules) reported.back().rules.push_back(rule->id);
  }
  return reported;
}

ReportedModel reported_model(const Document& document, const std::string& path) {
  const Model& model = document.model();
  ReportedModel reported;
  reported.path = path;
  reported.format = model.dialect->name;
  reported.bytes = document.file().bytes().size();
  for (const Graph& graph : model.graphs) reported.nodes += graph.order.size();
  return reported;
}

ReportedPrediction reported_prediction(const Prediction& prediction, const Model& input) {
  ReportedPrediction reported;
  reported.verdict = prediction.verdict;
  for (const PredictedRecord& record : prediction.records) {
    const Graph& graph = input.graphs[static_cast<std::size_t>(record.graph)];
    const std::int32_t node = record.node == none_id ? none_id : graph.node(record.node).origin;
    reported.records.push_back(
        {.text = record.text, .graph = record.graph, .node = node, .hidden = record.hidden});
  }
  return reported;
}

std::string fallback_note(const Target& target, const Prediction& prediction) {
  if (!target.falls_back() || prediction.accelerated >= prediction.nodes) return "";
  return fmt::format("{} of {} nodes on the GPU, {} partition{}", prediction.accelerated, prediction.nodes,
                     prediction.partitions, prediction.partitions == 1 ? "" : "s");
}

}  // namespace md
