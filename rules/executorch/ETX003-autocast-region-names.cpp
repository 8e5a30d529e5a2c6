#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "lib/format/torch/builder.h"
#include "lib/rewrite/aten/regions.h"
#include "lib/rule/page/detector.h"

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

Patch inlined(const DetectContext& context, NodeId id, const Graph& inner) {
  AtenBuilder b(context.graph, context.graph_index, "inline the region");
  inline_region(b, id, inner);
  return b.take();
}

/// The pass puts the first region's own values in the place of its results: they get other names before the
/// second region is looked at.
bool reads_a_region(const Model& model, const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
    return v >= 0 && graph.producer(v) != none_id && is_region(model, graph.node(graph.producer(v)));
  });
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
    const bool inlinable = !is_enabled(node) && can_inline(node, inner);
    const auto add = [&](Patch patch) { result.fixes.emplace_back(std::move(patch)); };
    if (nested) {
      result.message = "an autocast region inside an autocast region";
      if (is_enabled(node))
        result.reason = "the inner region switches autocast on, which changes the types inside it";
      else if (!inlinable)
        result.reason = "the inner region holds further regions";
      else
        add(inlined(context, id, inner));
    } else {
      if (node.inputs.size() != inner.inputs.size() || !names_differ(graph, node, inner)) continue;
      result.message = fmt::format(
          "an autocast region whose inputs are not named as its operands (\"{}\" is passed \"{}\")",
          inner.value(inner.inputs[0]).name, graph.value(node.inputs[0]).name);
      const bool chained = reads_a_region(context.model, graph, node);
      if (chained && inlinable) add(inlined(context, id, inner));
      if (auto renamed = rename_inputs(graph, node, inner, node.subgraphs[0])) add(std::move(*renamed));
      if (!chained && inlinable) add(inlined(context, id, inner));
      if (result.fixes.empty()) result.reason = "an operand's name is taken inside the region";
    }
    if (result.fixes.empty()) result.state = DetectResult::State::declined;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
