// Bodies of control flow and composites, constants, and operator versions.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/eval/fold.h"
#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/op_versions.h"
#include "lib/format/tflite/queries.h"
#include "lib/rewrite/constant_region.h"
#include "lib/rewrite/families.h"
#include "lib/rewrite/inline_graph.h"

namespace md::rewrites {
namespace {

/// The lowest version that the operator needs, where the target takes less than the file says.
std::vector<DetectResult> lowered_version(const RewriteSite& site) {
  const DetectContext& context = site.context;
  const Node& node = context.graph.node(site.root);
  if (node.op == "CUSTOM" || node.op == "STABLEHLO_COMPOSITE") return {};
  if (!context.target || !context.target->has_table()) return {};
  const auto records = context.target->predict_node(context.model, context.graph_index, site.root);
  if (std::none_of(records.begin(), records.end(), [](const PredictedRecord& record) {
        return record.text.find("Max version supported") != std::string::npos;
      }))
    return {};
  const int needed = minimal_operator_version(context.graph, node);
  if (needed <= 0 || needed >= node.version)
    return declined(fmt::format(
        "the node needs version {} (its types, rank or options); use a newer runtime, or mend what raised it "
        "first",
        needed));
  PatchBuilder patch(context.graph, context.graph_index, title_of(site, fmt::format("version {}", needed)));
  NodeChange change;
  change.node = site.root;
  change.version = needed;
  patch.change(std::move(change));
  return fixed_by(patch.take());
}

/// A value that the body makes for one result alone is written in its place; a RESHAPE is only for results
/// that are passed through.
void write_in_place(PatchBuilder& patch, const std::vector<ValueId>& made, const Node& node) {
  Patch& raw = patch.patch();
  for (std::size_t i = 0; i < made.size(); ++i) {
    const ValueId from = made[i], to = node.outputs[i];
    const bool once = std::count(made.begin(), made.end(), from) == 1 && is_new_value(from) &&
                      !patch.value(from).is_constant();
    if (!once) continue;
    std::erase_if(raw.new_nodes, [&](const Node& n) {
      return n.op == "RESHAPE" && n.outputs.size() == 1 && n.outputs[0] == to && !n.inputs.empty() &&
             n.inputs[0] == from;
    });
    for (Node& n : raw.new_nodes) {
      std::replace(n.inputs.begin(), n.inputs.end(), from, to);
      std::replace(n.outputs.begin(), n.outputs.end(), from, to);
    }
  }
}

/// The operators of a composite's decomposition in its place.
std::vector<DetectResult> inlined(const RewriteSite& site) {
  const DetectContext& context = site.context;
  const Node& node = context.graph.node(site.root);
  const std::int32_t body = node.subgraphs.empty() ? -1 : node.subgraphs.front();
  PatchBuilder patch(context.graph, context.graph_index, title_of(site, "run the decomposition"));
  TfliteBuilder ops(patch);
  std::optional<std::vector<ValueId>> made;
  if (body >= 0 && static_cast<std::size_t>(body) < context.model.graphs.size())
    made = inline_graph(patch, context.model.graphs[static_cast<std::size_t>(body)], node.inputs);
  const auto absent = [](ValueId v) { return v == none_id; };
  if (!made || made->size() != node.outputs.size() || std::any_of(made->begin(), made->end(), absent) ||
      std::any_of(node.outputs.begin(), node.outputs.end(), absent))
    return declined("the file does not hold a decomposition with the same inputs and outputs");
  for (std::size_t i = 0; i < made->size(); ++i)
    ops.reshape((*made)[i], ops.shape(node.outputs[i]), node.outputs[i]);
  patch.remove(site.root);
  write_in_place(patch, *made, node);
  return fixed_by(patch.take());
}

/// IF: both branches, and SELECT_V2 between their results. Only where the branches do nothing else.
std::vector<DetectResult> both_branches(const RewriteSite& site) {
  const DetectContext& context = site.context;
  const Node& node = context.graph.node(site.root);
  DetectResult advice;
  advice.state = DetectResult::State::advice;  // the page's "reason" says what to do
  if (node.subgraphs.size() != 2 || !is_pure(context.model, node.subgraphs[0]) ||
      !is_pure(context.model, node.subgraphs[1]))
    return {advice};
  PatchBuilder patch(context.graph, context.graph_index, title_of(site, "compute both branches, SELECT_V2"));
  TfliteBuilder ops(patch);
  const std::vector<ValueId> arguments(node.inputs.begin() + 1, node.inputs.end());
  std::vector<std::vector<ValueId>> made;
  for (const std::int32_t branch : node.subgraphs) {
    auto results = inline_graph(patch, context.model.graphs[static_cast<std::size_t>(branch)], arguments);
    if (!results || results->size() != node.outputs.size()) return {advice};
    made.push_back(std::move(*results));
  }
  const ValueId condition =
      ops.shape(node.inputs[0]).size() == 1 ? node.inputs[0] : ops.reshape(node.inputs[0], {1});
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (ops.shape(made[0][i]) != ops.shape(made[1][i])) return {advice};
    patch.add_node("SELECT_V2", {condition, made[0][i], made[1][i]}, {node.outputs[i]});
  }
  patch.remove(site.root);
  if (patch.patch().empty()) return {advice};
  return fixed_by(patch.take());
}

/// What the operator makes of constants, stored in its place.
std::vector<DetectResult> stored_result(const RewriteSite& site) {
  const DetectContext& context = site.context;
  const Graph& graph = context.graph;
  if (graph.node(site.root).outputs.empty()) return {};
  const ValueId value = graph.node(site.root).outputs[0];
  DetectResult result;
  result.nodes = {site.root};
  for (const Use& use : graph.uses(value))
    if (graph.node(use.node).op == "DEQUANTIZE") result.nodes.push_back(use.node);
  const auto stored = fold_value(context.model, context.graph_index, value);
  if (!stored || graph.is_output(value)) {
    result.state = DetectResult::State::declined;
    result.reason = stored ? std::string("it is an output of the model") : stored.error().message;
    return {std::move(result)};
  }
  PatchBuilder patch(graph, context.graph_index, title_of(site, "store the result"));
  patch.patch().new_values.push_back(constant_value(graph.value(value).name, *stored));
  for (const Use& use : graph.uses(value)) patch.rewire(use.node, use.operand, new_value(0));
  patch.remove(site.root);
  result.fixes.emplace_back(patch.take());
  return {std::move(result)};
}

/// Every part of the graph that depends on constants alone, computed and stored.
std::vector<DetectResult> folded_constants(const RewriteSite& site) {
  const DetectContext& context = site.context;
  std::vector<DetectResult> results;
  for (const ConstantRegion& region : constant_regions(context.graph)) {
    DetectResult result;
    result.nodes = region.nodes;
    result.value = region.results.empty() ? none_id : region.results.front();
    const std::string& last = context.graph.node(region.nodes.back()).op;
    result.words["what"] =
        region.nodes.size() == 1
            ? fmt::format("{} has only constant operands", last)
            : fmt::format("{} operators up to {} compute from constants alone", region.nodes.size(), last);
    auto patch = fold_region(context.model, context.graph_index, region,
                             fmt::format("{} operator(s) folded to constants", region.nodes.size()));
    if (patch) {
      result.fixes.emplace_back(*std::move(patch));
    } else {
      result.state = DetectResult::State::declined;
      result.reason = patch.error().message;
    }
    results.push_back(std::move(result));
  }
  return results;
}

constexpr NamedRewrite table[] = {
    {"both_branches", 0, 0, "", "IF with pure branches: both of them, SELECT_V2", both_branches, "IF"},
    {"folded_constants", 0, 0, "", "the graph: what depends on constants alone, computed and stored",
     folded_constants, ""},
    {"inlined", 0, 0, "", "a composite: the operators of its decomposition", inlined, "STABLEHLO_COMPOSITE"},
    {"lowered_version", 0, 0, "",
     "an operator whose version the target does not take: the lowest one that it needs", lowered_version},
    {"stored_result", 0, 0, "", "an operator on constants: its result, stored", stored_result},
};

}  // namespace

std::span<const NamedRewrite> graph_rewrites() { return table; }

}  // namespace md::rewrites
