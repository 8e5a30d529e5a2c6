#include <algorithm>

#include "lib/op/dialect.h"
#include "lib/rewrite/onnx/expand.h"

namespace md {

std::vector<DetectResult> ORT104(const DetectContext& context) {
  std::vector<NodeId> nodes = onnx::unregistered(context);
  // an operator of ONNX that another set has is the business of other rules
  std::erase_if(nodes, [&](NodeId id) {
    const Node& node = context.graph.node(id);
    return onnx::default_domain(node) && find_op(*context.graph.dialect, node.op);
  });
  return onnx::expansions(context, nodes, "no operator that this ONNX Runtime knows");
}

}  // namespace md
