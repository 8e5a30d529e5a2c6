#include "lib/rewrite/onnx/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/format/onnx/operators.h"
#include "lib/op/dialect.h"
#include "lib/rewrite/inline_graph.h"
#include "lib/rewrite/unused_nodes.h"

namespace md::onnx {
namespace {

/// "mish" of "aten::mish", "Mish"; without underscores and in small letters.
std::string plain_name(std::string_view op) {
  if (const std::size_t colons = op.rfind("::"); colons != std::string_view::npos)
    op.remove_prefix(colons + 2);
  std::string plain;
  for (const char c : op)
    if (c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return plain;
}

/// The body of the local function that a node calls; null: it calls none.
const Graph* function_of(const Model& model, const Node& node) {
  if (node.subgraphs.size() != 1 || default_domain(node)) return nullptr;
  const auto g = static_cast<std::size_t>(node.subgraphs.front());
  return g < model.graphs.size() ? &model.graphs[g] : nullptr;
}

/// Attributes that the body takes over from the call ("@name") get the call's.
bool fill_attributes(Node& node, const Attributes& given) {
  std::vector<std::string> references;
  for (const auto& [name, value] : node.attrs)
    if (name.starts_with('@')) references.push_back(name);
  for (const std::string& reference : references) {
    const AttrValue* value = given.find(node.attrs.text(reference));
    node.attrs.erase(reference);
    if (value) node.attrs.set(std::string_view(reference).substr(1), *value);
  }
  return true;
}

std::optional<Patch> inlined(const Model& model, int graph_index, NodeId id, const Graph& body,
                             std::string& reason) {
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  const Node& node = graph.node(id);
  PatchBuilder patch(graph, graph_index, fmt::format("the body of {} in its place", node.op));
  std::vector<ValueId> arguments = node.inputs;
  arguments.resize(body.inputs.size(), none_id);
  const auto results = inline_graph(patch, body, arguments);
  if (!results || results->size() < node.outputs.size()) {
    reason = "the call and the function have different numbers of operands or results";
    return std::nullopt;
  }
  for (Node& copy : patch.patch().new_nodes) {
    fill_attributes(copy, node.attrs);
    copy.version = 0;
    copy.name.clear();
    for (std::size_t r = 0; r < node.outputs.size(); ++r)
      for (ValueId& out : copy.outputs)
        if (out == (*results)[r]) out = node.outputs[r];
    for (ValueId& in : copy.inputs)
      for (std::size_t r = 0; r < node.outputs.size(); ++r)
        if (in == (*results)[r] && is_new_value(in)) in = node.outputs[r];
  }
  for (std::size_t r = 0; r < node.outputs.size(); ++r)
    if (!is_new_value((*results)[r]) || (*results)[r] == none_id)
      patch.add_node("Identity", {(*results)[r]}, {node.outputs[r]}, {}, 0);
  patch.remove(id);
  return patch.take();
}

/// The set leaves the file with its last node.
void drop_domain(Patch& patch, const Model& model, const Node& node) {
  if (default_domain(node) || onnx_set_version(model, node.custom) == 0) return;
  for (const Graph& graph : model.graphs)
    for (const NodeId other : graph.order) {
      const bool same = &graph == &model.graphs[static_cast<std::size_t>(patch.graph)] &&
                        std::find(patch.removed.begin(), patch.removed.end(), other) != patch.removed.end();
      if (!same && graph.node(other).custom == node.custom) return;
    }
  for (const Node& added : patch.new_nodes)
    if (added.custom == node.custom) return;
  patch.operator_sets.push_back({node.custom, 0});
}

}  // namespace

Formula formula_of(std::string_view op) {
  const std::string wanted = plain_name(base_name(op));
  for (const auto formulas : {activation_formulas(), norm_formulas(), fused_formulas(), layout_formulas()})
    for (const NamedFormula& formula : formulas)
      if (plain_name(formula.name) == wanted) return formula.write;
  return nullptr;
}

std::optional<Patch> expanded(const Model& model, int graph_index, NodeId id, int set, std::string& reason) {
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  const Node& node = graph.node(id);
  if (const Graph* body = function_of(model, node)) {
    auto patch = inlined(model, graph_index, id, *body, reason);
    if (patch) drop_domain(*patch, model, node);
    return patch;
  }
  const bool aten = base_name(node.op) == "ATen";
  const std::string_view op = aten ? node.attrs.text("operator") : std::string_view(node.op);
  const Formula formula = formula_of(op);
  if (!formula || node.outputs.empty()) {
    reason = fmt::format("no formula of {} is known here: {}", op,
                         aten ? "export with another opset_version, or write it with other operators"
                              : "register the library that implements it, or write it with other operators");
    return std::nullopt;
  }
  PatchBuilder patch(graph, graph_index, fmt::format("{} written with operators of opset {}", op, set));
  OnnxBuilder b(patch, set);
  if (!formula(b, graph, node, reason)) {
    if (reason.empty()) reason = fmt::format("this form of {} has no formula here", op);
    return std::nullopt;
  }
  for (const Node& added : patch.patch().new_nodes)
    if (added.custom.empty() && !b.has(added.op)) {
      reason = fmt::format("the formula needs {}, which opset {} lacks", added.op, set);
      return std::nullopt;
    }
  patch.remove(id);
  remove_unused(patch);
  Patch done = patch.take();
  drop_domain(done, model, node);
  return done;
}

namespace {

/// All elements that are taken from the list which SplitToSequence makes, as slices.
std::optional<Patch> without_sequence(const DetectContext& context, NodeId id, std::string& reason) {
  const Graph& graph = context.graph;
  PatchBuilder patch(graph, context.graph_index, "slices instead of a list of them");
  OnnxBuilder b(patch, working_set(context.model));
  for (const Use& use : graph.uses(graph.node(id).outputs[0])) {
    const Node& reader = graph.node(use.node);
    if (reader.op != "SequenceAt") {
      reason = fmt::format("the list is read by {}", reader.op);
      return std::nullopt;
    }
    if (!formula_of("SequenceAt")(b, graph, reader, reason)) return std::nullopt;
    patch.remove(use.node);
  }
  patch.remove(id);
  remove_unused(patch);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> expansions(const DetectContext& context, std::span<const NodeId> nodes,
                                     std::string_view message) {
  std::vector<DetectResult> results;
  for (const NodeId id : nodes) {
    const Node& node = context.graph.node(id);
    const std::string_view op =
        base_name(node.op) == "ATen" ? node.attrs.text("operator", "ATen") : std::string_view(node.op);
    DetectResult result = site_of(id, node.outputs.empty() ? none_id : node.outputs[0],
                                  fmt::format("\"{}\" is {}: {}", node.name, op, message));
    result.words = {{"op", std::string(base_name(op))}, {"domain", node.custom}};
    const int set = working_set(context.model);
    auto patch = op == "SplitToSequence"
                     ? without_sequence(context, id, result.reason)
                     : expanded(context.model, context.graph_index, id, set, result.reason);
    if (patch)
      result.fixes.push_back(graded(std::move(*patch))), result.fixes.back().by_law = true;
    else
      result.state = DetectResult::State::declined;
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<NodeId> unregistered(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<NodeId> nodes;
  if (!graph.dialect) return nodes;
  const int set = onnx_set_version(context.model);
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const OpSpec* row = find_op(*graph.dialect, node.op);
    const bool known = row != nullptr && (!default_domain(node) || set == 0 || onnx_row(node.op, set));
    if (!known && base_name(node.op) != "Constant") nodes.push_back(id);
  }
  return nodes;
}

}  // namespace md::onnx
