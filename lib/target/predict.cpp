#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "lib/target/dynamic.h"
#include "lib/target/table_target.h"

namespace md {
namespace {

/// "GATHER_ND: ", "CUSTOM Name: ".
std::string line_head(const Node& node) {
  return node.op == "CUSTOM" ? fmt::format("CUSTOM {}: ", node.custom) : node.op + ": ";
}

}  // namespace

TableTarget::NodeVerdict TableTarget::judge(const DelegateView& view, int graph, NodeId id) const {
  NodeVerdict verdict;
  const Node& node = view.graph().node(id);
  if (view.is_half_constant_dequantize(node)) return verdict;
  const CheckContext context{view, node, table, checks_->types};
  const auto run = [&](const CheckList& checks, const std::string& head, bool kernel) {
    for (const TableCheck& check : checks) {
      if (!check.spec.versions.contains(table)) continue;
      const std::optional<Fault> fault = check.function(context, check.spec);
      if (!fault) continue;
      PredictedRecord record{head + fault->text, graph, id, fault->value, !verdict.records.empty(), false};
      const bool told = std::any_of(verdict.records.begin(), verdict.records.end(),
                                    [&](const PredictedRecord& other) { return other.text == record.text; });
      if (told) continue;
      if (kernel) verdict.kernel = true;
      if (kernel && check.crash && verdict.records.empty()) verdict.crash = true;
      verdict.records.push_back(std::move(record));
    }
  };
  run(checks_->checks_for(node), line_head(node), false);
  if (!verdict.records.empty()) return verdict;
  if (const auto kernel = checks_->kernels.find(node.op); kernel != checks_->kernels.end()) run(kernel->second, "", true);
  return verdict;
}

Prediction TableTarget::predict(const Model& model) const {
  Prediction prediction;
  if (!checks_ || model.graphs.empty()) return prediction;
  std::vector<PredictedRecord> left_out;  // DEQUANTIZE of fp16 constants: a line without a reason, when anything is refused
  // With the CPU allowed too, refused nodes run there; kernels that fail to build and aborts end both.
  const bool may_fall_back = name_.find("+cpu") != std::string::npos;
  bool refused = false, fails = false, crash = false;
  for (std::size_t g = 0; g < model.graphs.size(); ++g) {
    const Graph& graph = model.graphs[g];
    const DynamicValue unsized = checks_->static_only.empty() ? DynamicValue{} : first_dynamic_value(graph);
    if (unsized.value != none_id) {
      refused = true;
      prediction.records.push_back({checks_->static_only, static_cast<int>(g),
                                    unsized.node, unsized.value, false, false});
    }
    const DelegateView view(model, static_cast<int>(g), checks_->signature_names);
    for (const NodeId id : graph.order) {
      NodeVerdict verdict = judge(view, static_cast<int>(g), id);
      refused = refused || !verdict.records.empty();
      crash = crash || verdict.crash;
      fails = fails || verdict.kernel;
      for (PredictedRecord& record : verdict.records) {
        record.hidden = record.hidden || unsized.value != none_id;  // the graph is refused before its nodes are looked at
        prediction.records.push_back(std::move(record));
      }
      if (view.is_half_constant_dequantize(graph.node(id)))
        left_out.push_back({"DEQUANTIZE: ", static_cast<int>(g), id, none_id, false, true});
    }
    if (g == 0 && !refused) left_out.clear();
  }
  if (refused) prediction.records.insert(prediction.records.end(), left_out.begin(), left_out.end());
  prediction.verdict = crash ? Prediction::Verdict::crash
                       : fails || (refused && !may_fall_back) ? Prediction::Verdict::refused
                             : Prediction::Verdict::compiles;
  return prediction;
}

std::vector<PredictedRecord> TableTarget::predict_node(const Model& model, int graph, NodeId node) const {
  if (!checks_) return {};
  return judge(DelegateView(model, graph, checks_->signature_names), graph, node).records;
}

}  // namespace md
