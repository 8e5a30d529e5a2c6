#include "lib/rewrite/aten/regions.h"

#include <algorithm>
#include <map>
#include <set>

#include "lib/format/torch/view.h"

namespace md {

const Graph* region_body(const Model& model, const Node& node) {
  const bool region =
      node.op == "higher_order.wrap_with_autocast" || node.op == "higher_order.wrap_with_set_grad_enabled";
  if (!region || node.subgraphs.size() != 1) return nullptr;
  const auto index = static_cast<std::size_t>(node.subgraphs[0]);
  return node.subgraphs[0] > 0 && index < model.graphs.size() ? &model.graphs[index] : nullptr;
}

bool can_inline(const Node& call, const Graph& inner) {
  if (call.outputs.size() != inner.outputs.size() || call.inputs.size() != inner.inputs.size()) return false;
  if (std::any_of(call.inputs.begin(), call.inputs.end(), [](ValueId v) { return v < 0; })) return false;
  return std::all_of(inner.order.begin(), inner.order.end(),
                     [&](NodeId n) { return inner.node(n).subgraphs.empty(); });
}

void inline_region(AtenBuilder& b, NodeId id, const Graph& inner, const Retype& retype) {
  const Graph& outer = b.graph();
  const Node& call = outer.node(id);
  b.remove(id);
  std::map<ValueId, ValueId> mapped;
  for (std::size_t i = 0; i < inner.inputs.size(); ++i) mapped[inner.inputs[i]] = call.inputs[i];
  std::set<ValueId> given;  // results of the call that a node of the region writes itself
  for (std::size_t i = 0; i < inner.outputs.size(); ++i)
    if (inner.producer(inner.outputs[i]) != none_id &&
        mapped.emplace(inner.outputs[i], call.outputs[i]).second)
      given.insert(call.outputs[i]);
  const auto type_of = [&](DType type) { return type == retype.from ? retype.to : type; };
  for (const NodeId n : inner.order) {
    Node copy = inner.node(n);
    if (retype.from != DType::unknown && aten_is_check(copy.op)) continue;
    copy.origins.clear();
    const AttrValue* asked = copy.attrs.find("dtype");
    if (const auto* dtype = asked ? std::get_if<EnumValue>(asked) : nullptr;
        dtype && retype.from != DType::unknown && dtype->number == aten_scalar_type(retype.from).number)
      copy.attrs.set("dtype", aten_scalar_type(retype.to));
    for (ValueId& v : copy.outputs) {
      if (!mapped.count(v)) {
        const Value& value = inner.value(v);
        mapped[v] = b.add_value(value.name, type_of(value.dtype), value.shape);
        b.patch().new_values.back().dim_names = value.dim_names;
      }
      v = mapped[v];
    }
    for (ValueId& v : copy.inputs)
      if (v >= 0) v = mapped.count(v) ? mapped[v] : none_id;
    b.add_node(std::move(copy));
  }
  // An operand that is handed through, or a result that is given twice.
  for (std::size_t i = 0; i < inner.outputs.size(); ++i) {
    const ValueId result = call.outputs[i];
    if (given.count(result)) continue;
    if (outer.is_output(result))
      b.write("aten.clone.default", {{"self", mapped[inner.outputs[i]]}}, {}, result);
    else
      b.replace_uses(result, mapped[inner.outputs[i]]);
  }
}

}  // namespace md
