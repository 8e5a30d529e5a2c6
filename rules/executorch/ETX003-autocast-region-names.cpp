#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "lib/edit/aten_builder.h"
#include "lib/rule/detector.h"

namespace md {
namespace {

constexpr std::string_view autocast = "higher_order.wrap_with_autocast";

bool is_region(const Model& model, const Node& node) {
  return node.op == autocast && node.subgraphs.size() == 1 && node.subgraphs[0] > 0 &&
         static_cast<std::size_t>(node.subgraphs[0]) < model.graphs.size();
}

/// The third argument switches autocast on.
bool is_enabled(const Node& node) { return node.attrs.flag("2", true); }

bool names_differ(const Graph& outer, const Node& node, const Graph& inner) {
  for (std::size_t i = 0; i < inner.inputs.size() && i < node.inputs.size(); ++i)
    if (node.inputs[i] >= 0 && outer.value(node.inputs[i]).name != inner.value(inner.inputs[i]).name)
      return true;
  return false;
}

/// The inner graph's inputs get the operands' names; nullopt when such a name is taken inside.
std::optional<Patch> rename_inputs(const Graph& outer, const Node& node, const Graph& inner,
                                   int inner_index) {
  AtenBuilder b(inner, inner_index, "inputs of the region named as its operands");
  for (std::size_t i = 0; i < inner.inputs.size(); ++i) {
    const std::string& wanted = outer.value(node.inputs[i]).name;
    if (inner.value(inner.inputs[i]).name == wanted) continue;
    const bool taken = std::any_of(inner.values.begin(), inner.values.end(),
                                   [&](const Value& v) { return v.name == wanted; });
    const bool twice = std::count(node.inputs.begin(), node.inputs.end(), node.inputs[i]) > 1;
    if (taken || twice) return std::nullopt;
    ValueChange change;
    change.value = inner.inputs[i];
    change.name = wanted;
    b.change(std::move(change));
  }
  return b.take();
}

/// The region's nodes in place of the node that calls it.
Patch inline_region(const Graph& outer, int outer_index, NodeId id, const Graph& inner) {
  const Node& call = outer.node(id);
  AtenBuilder b(outer, outer_index, "inline the region");
  b.remove(id);
  std::map<ValueId, ValueId> mapped;
  for (std::size_t i = 0; i < inner.inputs.size(); ++i) mapped[inner.inputs[i]] = call.inputs[i];
  for (std::size_t i = 0; i < inner.outputs.size(); ++i) mapped.emplace(inner.outputs[i], call.outputs[i]);
  for (const NodeId n : inner.order) {
    Node copy = inner.node(n);
    copy.origins.clear();
    for (ValueId& v : copy.outputs) {
      if (!mapped.count(v)) {
        const Value& value = inner.value(v);
        mapped[v] = b.add_value(value.name, value.dtype, value.shape);
        b.patch().new_values.back().dim_names = value.dim_names;
      }
      v = mapped[v];
    }
    for (ValueId& v : copy.inputs)
      if (v >= 0) v = mapped.count(v) ? mapped[v] : none_id;
    b.add_node(std::move(copy));
  }
  return b.take();
}

/// True when every result of the region is computed in it, each once: then the results can be written in
/// place.
bool can_inline(const Node& call, const Graph& inner) {
  if (call.outputs.size() != inner.outputs.size() || call.inputs.size() != inner.inputs.size()) return false;
  std::vector<ValueId> outputs = inner.outputs;
  std::sort(outputs.begin(), outputs.end());
  const bool once = std::adjacent_find(outputs.begin(), outputs.end()) == outputs.end();
  const bool plain = std::all_of(inner.order.begin(), inner.order.end(),
                                 [&](NodeId n) { return inner.node(n).subgraphs.empty(); });
  return once && plain &&
         std::all_of(outputs.begin(), outputs.end(), [&](ValueId v) { return inner.producer(v) != none_id; });
}

bool is_region_body(const Model& model, int graph) {
  for (const Graph& g : model.graphs)
    for (const NodeId id : g.order)
      if (is_region(model, g.node(id)) && g.node(id).subgraphs[0] == graph) return true;
  return false;
}

}  // namespace

std::vector<DetectResult> ETX003(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  const bool nested = is_region_body(context.model, context.graph_index);
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (!is_region(context.model, node)) continue;
    const Graph& inner = context.model.graphs[static_cast<std::size_t>(node.subgraphs[0])];
    DetectResult result;
    result.nodes = {id};
    if (nested) {
      result.message = "an autocast region inside an autocast region";
      if (is_enabled(node))
        result.state = DetectResult::State::declined,
        result.reason = "the inner region switches autocast on, which changes the types inside it";
      else if (!can_inline(node, inner))
        result.state = DetectResult::State::declined,
        result.reason = "a result of the inner region is not computed in it, or it holds further regions";
      else
        result.fixes.push_back(
            {inline_region(graph, context.graph_index, id, inner), Exactness::exact, false, ""});
    } else {
      if (node.inputs.size() != inner.inputs.size() || !names_differ(graph, node, inner)) continue;
      result.message = fmt::format(
          "an autocast region whose inputs are not named as its operands (\"{}\" is passed \"{}\")",
          inner.value(inner.inputs[0]).name, graph.value(node.inputs[0]).name);
      auto renamed = rename_inputs(graph, node, inner, node.subgraphs[0]);
      if (renamed)
        result.fixes.push_back({std::move(*renamed), Exactness::exact, false, ""});
      else if (!is_enabled(node) && can_inline(node, inner))
        result.fixes.push_back(
            {inline_region(graph, context.graph_index, id, inner), Exactness::exact, false, ""});
      else
        result.state = DetectResult::State::declined,
        result.reason = "an operand's name is taken inside the region";
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
