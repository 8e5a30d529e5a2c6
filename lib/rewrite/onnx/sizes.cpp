// Sizes that are known and computed all the same; a batch of 1 that an example left in the graph.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/edit/apply.h"
#include "lib/eval/fold.h"
#include "lib/format/onnx/operators.h"
#include "lib/graph/queries.h"
#include "lib/op/constants.h"
#include "lib/rewrite/constant_region.h"
#include "lib/rewrite/onnx/structure.h"
#include "lib/rewrite/unused_nodes.h"

namespace md::onnx {
namespace {

/// What Shape or Size of a value of known sizes gives; nullopt: they are not known.
std::optional<std::vector<std::int64_t>> sizes_of(const Graph& graph, const Node& node) {
  if ((node.op != "Shape" && node.op != "Size") || node.inputs.empty() || node.inputs[0] < 0)
    return std::nullopt;
  const Value& x = graph.value(node.inputs[0]);
  if (x.unranked) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  std::int64_t start = node.attrs.integer("start", 0), end = node.attrs.integer("end", rank);
  if (start < 0) start += rank;
  if (end < 0) end += rank;
  start = std::clamp<std::int64_t>(start, 0, rank);
  end = std::clamp<std::int64_t>(end, start, rank);
  std::vector<std::int64_t> sizes(x.shape.begin() + start, x.shape.begin() + end);
  if (node.op == "Size") sizes = x.shape;
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t d) { return d < 0; })) return std::nullopt;
  if (node.op == "Size") {
    const auto count = element_count(x.shape);
    if (!count) return std::nullopt;
    return std::vector<std::int64_t>{*count};
  }
  return sizes;
}

/// What depends on constants alone once the patch is applied, as constants of the same patch.
void fold_what_follows(const DetectContext& context, PatchBuilder& patch) {
  const auto changed = apply_patches(context.model, {&patch.patch(), 1});
  if (!changed) return;
  const Graph &graph = context.graph, &after = changed->graphs[static_cast<std::size_t>(context.graph_index)];
  for (const ConstantRegion& region : constant_regions(after)) {
    std::vector<std::pair<ValueId, ValueId>> stored;
    bool whole = true;
    for (const ValueId result : region.results) {
      whole = whole && result < static_cast<ValueId>(graph.values.size()) && !after.is_output(result);
      const auto tensor = whole ? fold_value(*changed, context.graph_index, result, std::int64_t{1} << 24)
                                : Result<Tensor>(input_error("it is not folded"));
      whole = whole && tensor.has_value();
      if (!whole) break;
      patch.patch().new_values.push_back(constant_value(graph.value(result).name, *tensor));
      stored.emplace_back(result, new_value(patch.patch().new_values.size() - 1));
    }
    if (!whole) continue;
    for (const auto& [result, constant] : stored)
      for (const Use& use : graph.uses(result))
        if (std::find(region.nodes.begin(), region.nodes.end(), use.node) == region.nodes.end())
          patch.rewire(use.node, use.operand, constant);
    for (const NodeId id : region.nodes)
      if (id < static_cast<NodeId>(graph.nodes.size())) patch.remove(id);
  }
  // a node that leaves is not rewired, and a constant that nobody reads is not written
  const auto& removed = patch.patch().removed;
  std::erase_if(patch.patch().rewires, [&](const Rewire& rewire) {
    return std::find(removed.begin(), removed.end(), rewire.node) != removed.end();
  });
  std::vector<Value> kept;
  std::map<ValueId, ValueId> renamed;
  for (Rewire& rewire : patch.patch().rewires) {
    if (!is_new_value(rewire.value)) continue;
    const auto [at, first] = renamed.emplace(rewire.value, new_value(kept.size()));
    if (first) kept.push_back(patch.value(rewire.value));
    rewire.value = at->second;
  }
  patch.patch().new_values = std::move(kept);
}

}  // namespace

std::vector<DetectResult> static_sizes(const DetectContext& context) {
  const Graph& graph = context.graph;
  PatchBuilder patch(graph, context.graph_index, "sizes that are known, as constants");
  OnnxBuilder b(patch, working_set(context.model));
  DetectResult result;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const auto sizes = default_domain(node) ? sizes_of(graph, node) : std::nullopt;
    if (!sizes || graph.is_output(node.outputs[0])) continue;
    const ValueId constant = node.op == "Size" ? b.int64((*sizes)[0]) : b.int64s(*sizes);
    for (const Use& use : graph.uses(node.outputs[0])) patch.rewire(use.node, use.operand, constant);
    patch.remove(id);
    result.nodes.push_back(id);
  }
  if (!result.nodes.empty()) {
    result.value = graph.node(result.nodes[0]).outputs[0];
    result.message =
        fmt::format("{} sizes are computed at run time, and known from the inputs", result.nodes.size());
    fold_what_follows(context, patch);
    remove_unused(patch);
    result.fixes.emplace_back(patch.take());
    return {std::move(result)};
  }
  std::vector<DetectResult> results;
  for (const ConstantRegion& region : constant_regions(graph)) {
    DetectResult found;
    found.nodes = region.nodes;
    found.value = region.results.empty() ? none_id : region.results[0];
    found.message = fmt::format("{} nodes compute from constants alone", region.nodes.size());
    auto folded =
        fold_region(context.model, context.graph_index, region, "what depends on constants alone, computed");
    if (folded)
      found.fixes.emplace_back(std::move(*folded));
    else
      found = declined(region.nodes.front(), std::move(found.message), folded.error().message);
    results.push_back(std::move(found));
  }
  return results;
}

namespace {

/// The target with its first entry as a copy of the operand's dimension; nullopt: it is not an example's 1.
std::optional<std::vector<std::int64_t>> with_copied_batch(const Graph& graph, const Node& node) {
  if (node.op != "Reshape" || !default_domain(node) || node.inputs.size() < 2 ||
      node.attrs.integer("allowzero", 0) != 0)
    return std::nullopt;
  auto target = constant_integers(graph, node.inputs[1]);
  const Value& x = graph.value(node.inputs[0]);
  if (!target || target->size() < 2 || (*target)[0] != 1 || x.unranked || x.rank() < 1 || x.is_constant())
    return std::nullopt;
  if (x.shape[0] != 1 && x.shape[0] != dynamic_dim) return std::nullopt;
  std::int64_t rest = 1, wanted = 1;
  bool inferred = false;
  for (std::size_t i = 1; i < x.shape.size(); ++i)
    rest = x.shape[i] < 0 ? -1 : rest < 0 ? -1 : rest * x.shape[i];
  for (std::size_t i = 1; i < target->size(); ++i) {
    inferred = inferred || (*target)[i] < 0;
    wanted *= (*target)[i] < 0 ? 1 : (*target)[i];
  }
  if (rest < 0 || (inferred ? wanted == 0 || rest % wanted != 0 : wanted != rest)) return std::nullopt;
  (*target)[0] = 0;
  return target;
}

}  // namespace

std::vector<DetectResult> baked_batch(const DetectContext& context, bool inputs) {
  const Graph& graph = context.graph;
  PatchBuilder patch(graph, context.graph_index,
                     inputs ? "inputs of any batch" : "Reshape that copies the batch");
  OnnxBuilder b(patch, working_set(context.model));
  DetectResult result;
  for (const NodeId id : graph.order)
    if (const auto target = with_copied_batch(graph, graph.node(id))) {
      patch.rewire(id, 1, b.int64s(*target));
      result.nodes.push_back(id);
    }
  if (!inputs) {
    if (result.nodes.empty()) return {};
    result.value = graph.node(result.nodes[0]).outputs[0];
    result.message = fmt::format("\"{}\" (Reshape) has the batch of the example, 1, in its target",
                                 graph.node(result.nodes[0]).name);
    result.fixes.emplace_back(patch.take());
    return {std::move(result)};
  }
  if (context.graph_index != 0) return {};
  // What follows from inputs whose first dimension is open, by inference on a copy.
  Model open;
  open = context.model;
  Graph& copy = open.graphs[0];
  bool any = false;
  for (const ValueId v : copy.inputs)
    if (Value& value = copy.value(v); !value.shape.empty() && value.shape[0] == 1)
      value.shape[0] = dynamic_dim, any = true;
  if (!any) return {};
  for (const NodeId id : copy.order)
    for (const ValueId v : copy.node(id).outputs)
      if (v >= 0) copy.value(v).shape.clear(), copy.value(v).unranked = true;
  for (const auto& [node, position, value] : patch.patch().rewires) {
    const auto* constant = &patch.value(value);
    copy.values.push_back(*constant);
    copy.node(node).inputs[static_cast<std::size_t>(position)] = static_cast<ValueId>(copy.values.size() - 1);
  }
  copy.index();
  complete_onnx_types(open);
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const Value &before = graph.values[v], &after = copy.values[v];
    if (after.unranked || before.shape == after.shape || before.is_constant() ||
        before.shape.size() != after.shape.size())
      continue;
    bool lost = false;  // more than the batch became unknown: its old size stands
    Shape shape = after.shape;
    for (std::size_t i = 1; i < shape.size(); ++i)
      if (shape[i] < 0 && before.shape[i] >= 0) shape[i] = before.shape[i], lost = true;
    if (lost && shape == before.shape) continue;
    ValueChange change;
    change.value = static_cast<ValueId>(v);
    change.shape = shape;
    patch.change(std::move(change));
  }
  result.value = graph.inputs.front();
  result.message = fmt::format("the input \"{}\" has the batch of the example, 1, as a fixed size",
                               graph.value(result.value).name);
  result.fixes.emplace_back(patch.take());
  result.fixes.back().unsafe = true;
  result.fixes.back().unsafe_reason =
      "the sizes of inputs and outputs change: the first dimension becomes open";
  return {std::move(result)};
}

}  // namespace md::onnx
