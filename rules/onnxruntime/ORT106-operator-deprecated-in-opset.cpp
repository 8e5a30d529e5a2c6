#include <fmt/format.h>

#include "lib/format/onnx/operators.h"
#include "lib/rewrite/onnx/expand.h"

namespace md {

std::vector<DetectResult> ORT106(const DetectContext& context) {
  const int own = onnx_set_version(context.model);
  std::vector<NodeId> nodes;
  for (const NodeId id : context.graph.order) {
    const Node& node = context.graph.node(id);
    if (own == 0 || !onnx::default_domain(node) || onnx_row(node.op, own)) continue;
    bool was = false;
    for (int set = 1; set < own && !was; ++set) was = onnx_row(node.op, set) != nullptr;
    if (was) nodes.push_back(id);
  }
  return onnx::expansions(context, nodes,
                          fmt::format("left ONNX before opset {}, which the file states", own));
}

}  // namespace md
