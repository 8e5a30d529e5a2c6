#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "lib/op/dialect.h"
#include "lib/target/partition.h"
#include "lib/target/table_target.h"

namespace md {
namespace {

/// "GATHER_ND: ", "CUSTOM Name: ".
std::string line_head(const Graph& graph, const Node& node) {
  const bool by_code = graph.dialect && node.op == graph.dialect->custom_operator;
  return by_code ? fmt::format("{} {}: ", node.op, node.custom) : node.op + ": ";
}

}  // namespace

TableTarget::NodeVerdict TableTarget::judge(const Model& model, const DelegateView& view, int graph,
                                            NodeId id) const {
  NodeVerdict verdict;
  const Node& node = view.graph().node(id);
  if (view.is_half_constant_dequantize(node)) return verdict;
  const CheckContext context{view, node, table, checks_->types, &model};
  const auto run = [&](const CheckList& checks, const std::string& head, bool kernel) {
    for (const TableCheck& check : checks) {
      if (!check.spec.versions.contains(table)) continue;
      const std::optional<Fault> fault = check.function(context, check.spec);
      if (!fault) continue;
      PredictedRecord record{head + fault->text, graph, id, fault->value, !verdict.records.empty(), false};
      const bool told = std::any_of(verdict.records.begin(), verdict.records.end(),
                                    [&](const PredictedRecord& other) { return other.text == record.text; });
      if (told) continue;
      if (verdict.records.empty()) verdict.stage = check.spec.parameters.integer("stage");
      if (kernel) verdict.kernel = true;
      if (kernel && check.crash && verdict.records.empty()) verdict.crash = true;
      verdict.records.push_back(std::move(record));
    }
  };
  run(checks_->every_node, "", false);
  // The runtime gets no further with a node that it refuses for itself.
  if (checks_->first_ends && !verdict.records.empty()) return verdict;
  const std::string head = checks_->every_node.empty() ? line_head(view.graph(), node) : std::string();
  run(checks_->checks_for(view.graph(), node), head, false);
  if (!verdict.records.empty()) return verdict;
  if (const auto kernel = checks_->kernels.find(node.op); kernel != checks_->kernels.end())
    run(kernel->second, "", true);
  return verdict;
}

/// Judges all nodes of one graph.
TableTarget::GraphVerdict TableTarget::judge_graph(const Model& model, int g) const {
  GraphVerdict verdict;
  const Graph& graph = model.graphs[static_cast<std::size_t>(g)];
  const DelegateView view(model, g, checks_->signature_names);
  const bool needs_sizes = !checks_->static_only.empty() && graph.dialect && graph.dialect->first_unsized;
  const UnsizedValue unsized = needs_sizes ? graph.dialect->first_unsized(graph) : UnsizedValue();
  if (unsized.value != none_id)
    verdict.records.push_back({checks_->static_only, g, unsized.node, unsized.value, false, false}),
        verdict.stages.push_back(0);
  std::vector<NodeVerdict> nodes;
  std::vector<bool> supported;
  for (const NodeId id : graph.order) {
    nodes.push_back(judge(model, view, g, id));
    const bool left_out = view.is_half_constant_dequantize(graph.node(id));
    if (left_out) verdict.left_out.push_back({"DEQUANTIZE: ", g, id, none_id, false, true});
    supported.push_back(!left_out && (nodes.back().records.empty() || nodes.back().kernel));
    verdict.refused = verdict.refused || (!nodes.back().records.empty() && !nodes.back().kernel);
  }
  // What is refused splits the graph; only the largest part's kernels are built.
  const bool whole = !verdict.refused && unsized.value == none_id;
  verdict.parts = partition(graph, supported);
  if (whole) verdict.parts.accelerated = verdict.parts.nodes, verdict.parts.partitions = 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool built = whole || (verdict.parts.chosen[i] && unsized.value == none_id);
    verdict.fails = verdict.fails || (nodes[i].kernel && built);
    verdict.crash = verdict.crash || (nodes[i].crash && built);
    for (PredictedRecord& record : nodes[i].records) {
      record.hidden = record.hidden || unsized.value != none_id || (nodes[i].kernel && !built);
      verdict.records.push_back(std::move(record));
      verdict.stages.push_back(nodes[i].stage);
    }
  }
  verdict.refused = verdict.refused || unsized.value != none_id;
  return verdict;
}

void TableTarget::judge_file(const Model& model, Prediction& prediction) const {
  for (const TableModelCheck& check : checks_->model_checks) {
    if (!check.spec.versions.contains(table)) continue;
    for (ModelFault& fault : check.function(model, check.spec))
      prediction.records.push_back({std::move(fault.text), fault.graph, fault.node, fault.value,
                                    checks_->first_ends && !prediction.records.empty(), false});
  }
}

Prediction TableTarget::predict(const Model& model) const {
  Prediction prediction;
  if (!checks_ || model.graphs.empty()) return prediction;
  judge_file(model, prediction);
  const std::size_t of_file = prediction.records.size();
  std::vector<std::int64_t> stages;
  bool refused = of_file > 0, fails = false, crash = false;
  std::vector<PredictedRecord> left_out;
  for (std::size_t g = 0; g < model.graphs.size(); ++g) {
    GraphVerdict verdict = judge_graph(model, static_cast<int>(g));
    refused = refused || verdict.refused, fails = fails || verdict.fails, crash = crash || verdict.crash;
    std::move(verdict.records.begin(), verdict.records.end(), std::back_inserter(prediction.records));
    stages.insert(stages.end(), verdict.stages.begin(), verdict.stages.end());
    // The lines without a reason are printed along with others only.
    if (verdict.refused)
      std::move(verdict.left_out.begin(), verdict.left_out.end(), std::back_inserter(left_out));
    if (g > 0) continue;
    prediction.nodes = verdict.parts.nodes;
    prediction.accelerated = verdict.parts.accelerated;
    prediction.partitions = verdict.parts.partitions;
  }
  if (checks_->first_ends && !stages.empty()) {  // the first node of the earliest stage has the word
    const auto first =
        of_file + static_cast<std::size_t>(std::min_element(stages.begin(), stages.end()) - stages.begin());
    for (std::size_t i = of_file; i < prediction.records.size(); ++i)
      prediction.records[i].hidden = of_file > 0 || i != first;
  }
  prediction.records.insert(prediction.records.end(), left_out.begin(), left_out.end());
  // With the CPU allowed too, refused nodes run there; kernels that fail to build and aborts end both.
  if (crash)
    prediction.verdict = Prediction::Verdict::crash;
  else if (fails || (refused && !falls_back_))
    prediction.verdict = Prediction::Verdict::refused;
  return prediction;
}

std::vector<PredictedRecord> TableTarget::predict_node(const Model& model, int graph, NodeId node) const {
  if (!checks_) return {};
  return judge(model, DelegateView(model, graph, checks_->signature_names), graph, node).records;
}

}  // namespace md
