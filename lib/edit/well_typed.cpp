#include "lib/edit/well_typed.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lib/op/dialect.h"

namespace md {
namespace {

std::optional<std::string> fault(const Dialect* dialect, const Graph& graph, const Node& node) {
  return dialect && dialect->misfit ? dialect->misfit(graph, node) : std::nullopt;
}

bool same_type(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.constant.has_value() == b.constant.has_value() &&
         (!a.constant || a.constant->bytes.data() == b.constant->bytes.data());
}

}  // namespace

std::optional<std::string> ill_typed(const Model& before, const Model& after) {
  for (std::size_t g = 0; g < after.graphs.size(); ++g) {
    const Graph& now = after.graphs[g];
    const Graph* was = g < before.graphs.size() ? &before.graphs[g] : nullptr;
    const auto changed_value = [&](ValueId v) {
      if (v < 0) return false;
      return !was || static_cast<std::size_t>(v) >= was->values.size() ||
             !same_type(was->value(v), now.value(v));
    };
    for (const NodeId id : now.order) {
      const Node& node = now.node(id);
      const Node* old = was && static_cast<std::size_t>(id) < was->nodes.size() ? &was->node(id) : nullptr;
      const bool same = old && old->op == node.op && old->inputs == node.inputs &&
                        old->outputs == node.outputs && old->attrs == node.attrs &&
                        std::none_of(node.inputs.begin(), node.inputs.end(), changed_value) &&
                        std::none_of(node.outputs.begin(), node.outputs.end(), changed_value);
      if (same) continue;
      const auto found = fault(after.dialect, now, node);
      if (!found || (old && fault(before.dialect, *was, *old))) continue;
      return fmt::format("{} (node {}): {}", node.op, id, *found);
    }
  }
  return std::nullopt;
}

}  // namespace md
