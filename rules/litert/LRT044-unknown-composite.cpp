// A STABLEHLO_COMPOSITE whose name the accelerator does not know: its decomposition is in the file and can
// run instead.
#include <fmt/format.h>

#include <algorithm>

#include "lib/format/tflite/builder.h"
#include "lib/rewrite/inline_graph.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT044(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "STABLEHLO_COMPOSITE") continue;
    if (context.target && context.target->has_table() &&
        context.target->predict_node(context.model, context.graph_index, id).empty() && !context.log_messages)
      continue;
    DetectResult result;
    result.nodes = {id};
    result.message = fmt::format("the composite \"{}\" is not one that the accelerator knows", node.custom);
    const std::int32_t body = node.subgraphs.empty() ? -1 : node.subgraphs.front();
    PatchBuilder patch(graph, context.graph_index, "run the composite's decomposition");
    TfliteBuilder ops(patch);
    std::optional<std::vector<ValueId>> made;
    if (body >= 0 && static_cast<std::size_t>(body) < context.model.graphs.size())
      made = inline_graph(patch, context.model.graphs[static_cast<std::size_t>(body)], node.inputs);
    if (!made || made->size() != node.outputs.size()) {
      result.state = DetectResult::State::declined;
      result.reason = "the file does not hold a decomposition with the same inputs and outputs";
      results.push_back(std::move(result));
      continue;
    }
    for (std::size_t i = 0; i < made->size(); ++i)
      ops.reshape((*made)[i], ops.shape(node.outputs[i]), node.outputs[i]);
    patch.remove(id);
    // The RESHAPE is only for results that are passed through; a value that the body makes is written in
    // place.
    Patch& raw = patch.patch();
    for (std::size_t i = 0; i < made->size(); ++i) {
      const ValueId from = (*made)[i], to = node.outputs[i];
      const bool once = std::count(made->begin(), made->end(), from) == 1 && is_new_value(from) &&
                        !patch.value(from).is_constant();
      if (!once) continue;
      std::erase_if(raw.new_nodes, [&](const Node& n) {
        return n.op == "RESHAPE" && n.outputs.size() == 1 && n.outputs[0] == to && !n.inputs.empty() &&
               n.inputs[0] == from;
      });
      for (Node& n : raw.new_nodes) {
        std::replace(n.inputs.begin(), n.inputs.end(), from, to);
        std::replace(n.outputs.begin(), n.outputs.end(), from, to);
      }
    }
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
