#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// True when the value is an attention result behind at least one transposition.
bool transposed_attention(const Graph& graph, ValueId v) {
  bool transposed = false;
  for (int step = 0; step < 16 && v >= 0; ++step) {
    const NodeId maker = graph.producer(v);
    if (maker == none_id) return false;
    const Node& node = graph.node(maker);
    const std::string base = aten_base(node.op);
    if (base.find("scaled_dot_product") != std::string::npos) return transposed;
    transposed = transposed || base == "aten.transpose" || base == "aten.permute";
    // Elementwise operators keep the order in memory that their operand has.
    const bool passes = aten_view(node.op) || aten_elementwise(node.op);
    if (!passes || node.inputs.empty() || base == "aten.reshape") return false;
    v = node.inputs[0];
  }
  return false;
}

}  // namespace

std::vector<DetectResult> TRT003(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "aten.view.default" && node.op != "aten._unsafe_view.default") continue;
    if (node.inputs.empty() || !transposed_attention(graph, node.inputs[0])) continue;
    AtenBuilder b(graph, context.graph_index, "reshape instead of view");
    b.remove(id);
    Node reshape = node;
    reshape.op = "aten.reshape.default";
    reshape.attrs = {};
    for (const auto& [key, value] : node.attrs) reshape.attrs.set(key == "size" ? "shape" : key, value);
    for (std::string& name : reshape.input_names)
      if (name.starts_with("size[")) name.replace(0, 4, "shape");
    reshape.origins = {id};
    b.add_node(std::move(reshape));
    DetectResult result;
    result.nodes = {id};
    result.message =
        "a view behind the transposed result of attention: impossible when attention is decomposed";
    result.fixes.emplace_back(b.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
