// A graph input that is also a graph output: the accelerator binds one buffer to both, the output is zeros
// and what reads the input sees zeros too.
#include <fmt/format.h>

#include <algorithm>

#include "lib/format/tflite/builder.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT027(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  if (context.graph_index != 0 || graph.order.empty())
    return results;  // bodies of control flow pass values through
  PatchBuilder patch(graph, context.graph_index, "return a RESHAPE copy of the input");
  TfliteBuilder ops(patch);
  std::vector<ValueId> outputs = graph.outputs;
  std::string names;
  DetectResult result;
  for (const ValueId input : graph.inputs) {
    if (!graph.is_output(input)) continue;
    const ValueId copy = ops.reshape(input, graph.value(input).shape);
    std::replace(outputs.begin(), outputs.end(), input, copy);
    names += (names.empty() ? "\"" : ", \"") + graph.value(input).name + "\"";
    if (result.value == none_id) result.value = input;
  }
  if (result.value == none_id) return results;
  for (const Use& use : graph.uses(result.value)) result.nodes.push_back(use.node);
  patch.patch().graph_outputs = std::move(outputs);
  result.message = fmt::format(
      "input {} is returned unchanged: the accelerator gives zeros for it, and whatever reads it computes "
      "with zeros",
      names);
  result.fixes.emplace_back(patch.take());
  results.push_back(std::move(result));
  return results;
}

}  // namespace md
