#include <fmt/format.h>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rewrite/aten/check_chain.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

bool is_symbolic_arithmetic(const Node& node) { return node.op.starts_with("torch.sym_"); }
bool is_all_true(const Node& node) {
  return aten_base(node.op) == "aten._is_all_true" || aten_base(node.op) == "aten._is_any_true";
}

DetectResult allowed_by_setting(NodeId id, const Node& node) {
  DetectResult result;
  result.state = DetectResult::State::advice;
  result.nodes = {id};
  result.message = node.op + " computes with symbolic numbers that an output needs";
  result.reason = fmt::format(
      "no rewrite exists: to_edge(ep, compile_config=EdgeCompileConfig(_core_aten_ops_exception_list=[{}]))",
      node.op);
  return result;
}

/// _is_all_true and _is_any_true are torch's names for `all` and `any` in asserts.
DetectResult all_instead(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  const std::string plain = aten_base(node.op) == "aten._is_all_true" ? "all" : "any";
  AtenBuilder b(context.graph, context.graph_index, plain + " instead of " + aten_base(node.op).substr(5));
  b.remove(id);
  b.write("aten." + plain + ".default", {{"self", node.inputs[0]}}, {}, node.outputs[0]);
  DetectResult result;
  result.nodes = {id};
  result.message = fmt::format("{} is not in Core ATen; `{}` is, and computes the same",
                               aten_base(node.op).substr(5), plain);
  result.fixes.emplace_back(b.take());
  return result;
}

}  // namespace

std::vector<DetectResult> ETX016(const DetectContext& context) {
  const Graph& graph = context.graph;
  const auto chain = check_only_nodes(graph);
  std::vector<DetectResult> results;
  DetectResult dropped;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (!is_symbolic_arithmetic(node) && !is_all_true(node)) continue;
    if (chain.count(id))
      dropped.nodes.push_back(id);
    else if (is_all_true(node) && node.inputs.size() == 1)
      results.push_back(all_instead(context, id));
    else
      results.push_back(allowed_by_setting(id, node));
  }
  if (dropped.nodes.empty()) return results;
  dropped.message = fmt::format("{} only serves a check, and is not part of Core ATen",
                                graph.node(dropped.nodes.front()).op);
  dropped.fixes.emplace_back(drop_checks(context, chain));
  results.insert(results.begin(), std::move(dropped));
  return results;
}

}  // namespace md
