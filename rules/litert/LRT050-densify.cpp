// DENSIFY: sparse constants that the runtime would expand; the file stores them dense instead.
#include <fmt/format.h>

#include "lib/edit/builder.h"
#include "lib/eval/fold.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT050(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "DENSIFY" || node.inputs.empty()) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message =
        fmt::format("DENSIFY of the sparse constant \"{}\": the accelerator takes dense constants only",
                    graph.value(node.inputs[0]).name);
    for (const Use& use : graph.uses(node.outputs[0]))
      if (graph.node(use.node).op == "DEQUANTIZE") result.nodes.push_back(use.node);
    const auto dense = fold_value(context.model, context.graph_index, node.outputs[0]);
    if (!dense || graph.is_output(node.outputs[0])) {
      result.state = DetectResult::State::declined;
      result.reason = dense ? std::string("it is an output of the model") : dense.error().message;
    } else {
      PatchBuilder patch(graph, context.graph_index, "store the constant dense");
      patch.patch().new_values.push_back(constant_value(graph.value(node.outputs[0]).name, *dense));
      for (const Use& use : graph.uses(node.outputs[0])) patch.rewire(use.node, use.operand, new_value(0));
      patch.remove(id);
      result.fixes.emplace_back(patch.take());
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
