// A tensor that the list of graph outputs names twice: only the last of the two buffers is written.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/format/tflite/builder.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT081(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  if (context.graph_index != 0) return results;  // bodies of control flow pass one value several times
  PatchBuilder patch(graph, context.graph_index, "return a RESHAPE copy in the earlier places");
  TfliteBuilder ops(patch);
  std::vector<ValueId> outputs = graph.outputs;
  std::set<ValueId> seen;
  std::string names;
  DetectResult result;
  for (auto output = outputs.rbegin(); output != outputs.rend(); ++output) {
    if (seen.insert(*output).second) continue;
    const NodeId producer = graph.producer(*output);
    if (producer == none_id) continue;  // an input that is returned: LRT027
    names += (names.empty() ? "\"" : ", \"") + graph.value(*output).name + "\"";
    if (result.value == none_id) result.value = *output, result.nodes = {producer};
    *output = ops.reshape(*output, graph.value(*output).shape);
  }
  if (result.value == none_id) return results;
  patch.patch().graph_outputs = std::move(outputs);
  result.message = fmt::format(
      "{} is returned more than once: the accelerator gives zeros in all places but the last", names);
  result.fixes.emplace_back(patch.take());
  results.push_back(std::move(result));
  return results;
}

}  // namespace md
