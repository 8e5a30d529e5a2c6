// "Max version supported": the file asks for a newer operator version than the runtime has. Where nothing in
// the node needs it (what raised it was rewritten, or a writer was generous), the number is lowered.
#include <fmt/format.h>

#include "lib/edit/builder.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT043(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (node.op == "CUSTOM" || node.op == "STABLEHLO_COMPOSITE") continue;
    const int needed = minimal_operator_version(graph, node);
    bool refused = false;
    if (context.target && context.target->has_table())
      for (const PredictedRecord& record :
           context.target->predict_node(context.model, context.graph_index, id))
        refused = refused || record.text.find("Max version supported") != std::string::npos;
    if (!refused) continue;
    DetectResult result;
    result.nodes = {id};
    result.message =
        fmt::format("{} has version {} in the file, the runtime takes less", node.op, node.version);
    if (needed > 0 && needed < node.version) {
      PatchBuilder patch(graph, context.graph_index, fmt::format("version {}", needed));
      NodeChange change;
      change.node = id;
      change.version = needed;
      patch.change(std::move(change));
      result.fixes.emplace_back(patch.take());
    } else {
      result.state = DetectResult::State::declined;
      result.reason = fmt::format(
          "the node needs version {} (its types, rank or options); use a newer runtime, or mend what raised "
          "it first",
          needed);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
