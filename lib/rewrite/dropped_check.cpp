#include "lib/rewrite/dropped_check.h"

#include <algorithm>

#include "lib/format/torch/view.h"

namespace md {
namespace {

bool is_size(const Graph& graph, ValueId id) {
  const NodeId maker = id < 0 ? none_id : graph.producer(id);
  return maker != none_id && aten_base(graph.node(maker).op) == "aten.sym_size";
}

/// "size >= 0", as torch.export writes it behind every operator whose number of results depends on values.
bool says_not_negative(const Graph& graph, ValueId id) {
  const NodeId maker = id < 0 ? none_id : graph.producer(id);
  if (maker == none_id) return false;
  const Node& node = graph.node(maker);
  if (node.op != "_operator.ge" || node.inputs.size() != 1 || !is_size(graph, node.inputs[0])) return false;
  int bounds = 0;
  for (const auto& [name, value] : node.attrs) {
    if (name.starts_with("#")) continue;
    const auto* bound = std::get_if<std::int64_t>(&value);
    if (!bound || *bound > 0) return false;
    ++bounds;
  }
  return bounds == 1;
}

bool holds_anyway(const Graph& graph, const Node& node) {
  const std::string base = aten_base(node.op);
  if (base == "aten._assert_tensor_metadata") return true;
  const ValueId of = node.inputs.empty() ? none_id : node.inputs[0];
  if (base == "aten._assert_scalar" || base == "aten._functional_assert_scalar")
    return says_not_negative(graph, of);
  if (base != "aten.sym_constrain_range" && base != "aten.sym_constrain_range_for_size") return false;
  return is_size(graph, of) && node.attrs.integer("min", 0) <= 0 && !node.attrs.find("max");
}

}  // namespace

NodeId dropped_check(const Graph& graph, const Patch& patch) {
  for (const NodeId id : patch.removed) {
    const Node& node = graph.node(id);
    if (!aten_is_check(node.op) || holds_anyway(graph, node)) continue;
    const bool rewritten = std::any_of(patch.new_nodes.begin(), patch.new_nodes.end(),
                                       [&](const Node& made) { return made.op == node.op; });
    if (!rewritten) return id;
  }
  return none_id;
}

}  // namespace md
