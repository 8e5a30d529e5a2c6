#include <algorithm>

#include "lib/eval/fold.h"
#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

constexpr std::int64_t largest_folded = std::int64_t{256} << 20;

bool reduces_to_mean(const Node& node) {
  const std::string base = aten_base(node.op);
  return base == "aten.mean" || base == "aten.var" || base == "aten.std" || base == "aten.var_mean" ||
         base == "aten.layer_norm" || base == "aten.native_layer_norm" || base == "aten.group_norm";
}

/// A node that computes a constant, at the border to what is known only at run time.
bool is_border(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty() || !node.subgraphs.empty() || aten_in_place(node.op) ||
      aten_is_check(node.op))
    return false;
  const ValueId out = node.outputs[0];
  if (!depends_on_constants_only(graph, out)) return false;
  const auto uses = graph.uses(out);
  return graph.is_output(out) || std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
           const Node& reader = graph.node(use.node);
           return reader.outputs.empty() || !depends_on_constants_only(graph, reader.outputs[0]);
         });
}

}  // namespace

std::vector<DetectResult> ETX021(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  if (std::none_of(graph.order.begin(), graph.order.end(),
                   [&](NodeId id) { return reduces_to_mean(graph.node(id)); }))
    return results;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (!is_border(graph, node) || graph.is_output(node.outputs[0])) continue;
    DetectResult result;
    result.nodes = {id};
    result.message = "a constant that is computed in the graph, in front of a mean or variance";
    // Ordinary programs hold it too (positions behind an embedding), and are quantized and lowered untouched:
    // a log says where it fails.
    result.likelihood = Likelihood::unlikely;
    const auto folded = fold_value(context.model, context.graph_index, node.outputs[0], largest_folded);
    if (!folded) {
      result.state = DetectResult::State::declined;
      result.reason = folded.error().message;
    } else {
      Value stored = constant_value(graph.value(node.outputs[0]).name + "_folded", *folded);
      AtenBuilder b(graph, context.graph_index, "store the computed constant");
      b.remove(id);
      const ValueId constant = b.add_value(stored.name, stored.dtype, stored.shape);
      b.patch().new_values.back().constant = stored.constant;
      b.replace_uses(node.outputs[0], constant);
      result.fixes.emplace_back(b.take());
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
