#include <fmt/format.h>

#include "lib/format/onnx/operators.h"
#include "lib/rewrite/onnx/forms.h"
#include "lib/rewrite/unused_nodes.h"

namespace md {

std::vector<DetectResult> ORT107(const DetectContext& context) {
  const Graph& graph = context.graph;
  const int own = onnx_set_version(context.model);
  std::vector<DetectResult> results;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const OpSpec* row = own > 0 && onnx::default_domain(node) ? onnx_row(node.op, own) : nullptr;
    const auto why = row ? onnx::misshapen(node, *row) : std::nullopt;
    if (!why) continue;
    DetectResult result = onnx::site_of(
        id, node.outputs.empty() ? none_id : node.outputs[0],
        fmt::format("\"{}\" ({}) has the form of another opset than {}, which the file states: {}", node.name,
                    node.op, own, *why));
    result.words = {{"op", node.op}};
    PatchBuilder patch(graph, context.graph_index, fmt::format("{} in the form of opset {}", node.op, own));
    OnnxBuilder b(patch, own);
    if (onnx::write_form(b, graph, id, own, result.reason)) {
      remove_unused(patch);
      result.fixes.emplace_back(patch.take()).by_law = true;
    } else if (const int set =
                   context.graph_index == 0 && results.empty() ? onnx::fitting_set(context.model) : 0) {
      Patch stamp;
      stamp.title = fmt::format("opset {}, in which all nodes have the form that they have", set);
      stamp.operator_sets.push_back({"", set});
      result.reason.clear();
      result.fixes.emplace_back(std::move(stamp)).by_law = true;
    } else {
      result.state = DetectResult::State::declined;
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
