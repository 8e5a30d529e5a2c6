#include "lib/rewrite/dropped_check.h"

#include <algorithm>

#include "lib/format/torch/view.h"
#include "lib/rewrite/aten/known_bounds.h"

namespace md {
namespace {

bool holds_anyway(const Graph& graph, const Node& node) {
  const std::string base = aten_base(node.op);
  if (base == "aten._assert_tensor_metadata") return true;
  const ValueId of = node.inputs.empty() ? none_id : node.inputs[0];
  if (base == "aten._assert_scalar" || base == "aten._functional_assert_scalar" ||
      base == "aten._assert_async")
    return aten_always_true(graph, of);
  if (base != "aten.sym_constrain_range" && base != "aten.sym_constrain_range_for_size") return false;
  const auto range = aten_range(graph, of);
  const AttrValue* most = node.attrs.find("max");
  const auto* limit = most ? std::get_if<std::int64_t>(most) : nullptr;
  return range && range->low >= static_cast<double>(node.attrs.integer("min", 0)) &&
         (!most || (limit && range->high <= static_cast<double>(*limit)));
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
