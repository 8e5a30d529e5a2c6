#include <algorithm>

#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> TRT007(const DetectContext& context) {
  const Graph& graph = context.graph;
  const bool complex = std::any_of(graph.values.begin(), graph.values.end(), [](const Value& v) {
    return v.dtype == DType::c64 || v.dtype == DType::c128;
  });
  if (!complex) return {};
  DetectResult result;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (aten_base(node.op).find("scaled_dot_product") != std::string::npos && node.attrs.flag("is_causal"))
      result.nodes.push_back(id);
  }
  if (result.nodes.empty()) return {};
  result.state = DetectResult::State::advice;
  result.message =
      "causal attention beside complex values: the mask is folded into a constant for every attention";
  result.reason = "make the rotation real (TRT005), or decompose_attention=False";
  return {std::move(result)};
}

}  // namespace md
