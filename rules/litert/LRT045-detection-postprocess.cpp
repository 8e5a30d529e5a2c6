// A detection head as a custom operator: the boxes and scores in front of it are what the accelerator can
// give.
#include <fmt/format.h>

#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT045(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "CUSTOM" || node.custom != "TFLite_Detection_PostProcess") continue;
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.nodes = {id};
    std::string cut;
    for (const ValueId v : node.inputs)
      if (is_runtime_operand(graph, v))
        cut += fmt::format("{}\"{}\" [{}]", cut.empty() ? "" : " and ", graph.value(v).name,
                           shape_text(graph.value(v).shape));
    result.message =
        "TFLite_Detection_PostProcess (box decoding and suppression): no accelerator runs it, the number of "
        "boxes depends on the scores";
    result.reason = fmt::format(
        "cut the model in front of it (--cut-before) so that it returns {}, and decode and suppress on the "
        "host with the anchors that the operator holds",
        cut);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
