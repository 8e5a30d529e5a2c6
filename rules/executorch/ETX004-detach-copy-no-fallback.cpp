#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> ETX004(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = context.graph.node(id);
    const std::string base = aten_base(node.op);
    const bool alias = base == "aten.detach" || base == "aten.detach_copy" || base == "aten.alias" ||
                       base == "aten.alias_copy" || base == "aten.lift_fresh_copy";
    if (!alias || node.inputs.size() != 1 || node.outputs.size() != 1) continue;
    AtenBuilder b(context.graph, context.graph_index, "drop the node");
    b.bypass(id, node.outputs[0], node.inputs[0]);
    DetectResult result;
    result.nodes = {id};
    result.message = node.op + " computes nothing, and the AOTI backend has no kernel for it";
    result.fixes.emplace_back(b.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
