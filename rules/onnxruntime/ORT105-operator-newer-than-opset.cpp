#include <fmt/format.h>

#include <algorithm>

#include "lib/format/onnx/operators.h"
#include "lib/rewrite/onnx/expand.h"
#include "lib/rewrite/onnx/forms.h"

namespace md {
namespace {

/// The first operator set that has the operator; 0: it is older than the file's set, or no operator.
int first_set(std::string_view op, int own) {
  for (int set = own + 1; set <= 28; ++set)
    if (onnx_row(op, set)) return set;
  return 0;
}

}  // namespace

std::vector<DetectResult> ORT105(const DetectContext& context) {
  const int own = onnx_set_version(context.model);
  std::vector<NodeId> nodes;
  for (const NodeId id : context.graph.order) {
    const Node& node = context.graph.node(id);
    if (own > 0 && onnx::default_domain(node) && !onnx_row(node.op, own) && first_set(node.op, own) > 0)
      nodes.push_back(id);
  }
  std::vector<DetectResult> results;
  for (const NodeId id : nodes) {
    const Node& node = context.graph.node(id);
    const int since = first_set(node.op, own);
    DetectResult result =
        onnx::site_of(id, node.outputs.empty() ? none_id : node.outputs[0],
                      fmt::format("\"{}\" is {}, which came with opset {}; the file states {}", node.name,
                                  node.op, since, own));
    result.words = {{"op", node.op}, {"opset", std::to_string(own)}};
    if (auto patch = onnx::expanded(context.model, context.graph_index, id, own, result.reason))
      result.fixes.emplace_back(std::move(*patch), Exactness::rounding).by_law = true;
    std::string reason;
    if (context.graph_index == 0 && id == nodes.front())
      if (auto patch = onnx::restamped(context.model, since, reason))
        result.fixes.emplace_back(std::move(*patch), Exactness::exact);
    if (result.fixes.empty()) result.state = DetectResult::State::declined;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
