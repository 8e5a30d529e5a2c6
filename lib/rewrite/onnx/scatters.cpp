// ScatterND of slices and masks, as exporters write assignments.
#include <fmt/format.h>

#include <algorithm>

#include "lib/op/constants.h"
#include "lib/rewrite/onnx/structure.h"
#include "lib/rewrite/unused_nodes.h"

namespace md::onnx {
namespace {

using Numbers = OnnxBuilder::Numbers;

bool plain_scatter(const Node& node) {
  return node.op == "ScatterND" && default_domain(node) && node.inputs.size() >= 3 &&
         node.outputs.size() == 1 && node.attrs.text("reduction", "none") == "none";
}

/// Row i of the result is row `source[i]` of the updates, or of the data where that is -1.
std::optional<Patch> joined_rows(const DetectContext& context, NodeId id,
                                 const std::vector<std::int64_t>& source) {
  constexpr std::size_t most_pieces = 64;
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "rows joined instead of scattered");
  OnnxBuilder b(patch, working_set(context.model));
  std::vector<ValueId> pieces;
  const auto rows = static_cast<std::int64_t>(source.size());
  const std::int64_t updates = context.graph.value(node.inputs[2]).shape[0];
  for (std::int64_t begin = 0; begin < rows;) {
    std::int64_t end = begin + 1;
    const auto at = [&](std::int64_t i) { return source[static_cast<std::size_t>(i)]; };
    while (end < rows && (at(begin) < 0 ? at(end) < 0 : at(end) == at(end - 1) + 1)) ++end;
    const bool own = at(begin) < 0;
    const std::int64_t from = own ? begin : at(begin);
    const ValueId table = own ? node.inputs[0] : node.inputs[2];
    const bool whole = from == 0 && end - begin == (own ? rows : updates);
    pieces.push_back(whole ? table : b.slice(table, {from}, {from + end - begin}, {0}));
    begin = end;
  }
  if (pieces.size() > most_pieces) return std::nullopt;
  if (pieces.size() == 1)
    b.identity(pieces[0], node.outputs[0]);
  else
    b.concat(std::move(pieces), 0, node.outputs[0]);
  patch.remove(id);
  remove_unused(patch);
  return patch.take();
}

const Node* maker(const Graph& graph, ValueId value, std::string_view op) {
  const NodeId id = value < 0 ? none_id : graph.producer(value);
  return id != none_id && graph.node(id).op == op && !graph.node(id).inputs.empty() ? &graph.node(id)
                                                                                    : nullptr;
}

/// The value of one element that updates repeat; none_id: they are more than that.
ValueId repeated(const Graph& graph, ValueId updates) {
  for (int steps = 0; steps < 8 && updates >= 0; ++steps) {
    if (const auto count = element_count(graph.value(updates).shape); count && *count == 1) return updates;
    const NodeId id = graph.producer(updates);
    if (id == none_id) return none_id;
    const Node& node = graph.node(id);
    if ((node.op != "Expand" && node.op != "Reshape" && node.op != "Identity" && node.op != "Tile" &&
         node.op != "Squeeze" && node.op != "Unsqueeze") ||
        node.inputs.empty())
      return none_id;
    updates = node.inputs[0];
  }
  return none_id;
}

}  // namespace

std::vector<DetectResult> scattered_rows(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (!plain_scatter(node)) continue;
    const auto places = constant_integers(graph, node.inputs[1]);
    const Value &data = graph.value(node.inputs[0]), &indices = graph.value(node.inputs[1]),
                &updates = graph.value(node.inputs[2]);
    if (!places || indices.rank() != 2 || indices.shape[1] != 1 || data.unranked || data.rank() < 1 ||
        data.shape[0] < 1 || updates.rank() != data.rank() || updates.shape[0] != indices.shape[0] ||
        data.shape[0] > (1 << 20))
      continue;
    std::vector<std::int64_t> source(static_cast<std::size_t>(data.shape[0]), -1);
    bool inside = true;
    for (std::size_t i = 0; i < places->size(); ++i) {
      const std::int64_t row = (*places)[i] < 0 ? (*places)[i] + data.shape[0] : (*places)[i];
      inside = inside && row >= 0 && row < data.shape[0];
      if (inside) source[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(i);
    }
    DetectResult result = site_of(
        id, node.outputs[0],
        fmt::format("\"{}\" (ScatterND) writes {} rows at constant places", node.name, places->size()));
    auto patch = inside ? joined_rows(context, id, source) : std::nullopt;
    if (patch)
      result.fixes.emplace_back(std::move(*patch));
    else
      result = declined(id, std::move(result.message),
                        inside ? "it would take more than 64 pieces" : "a place lies outside");
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<DetectResult> scattered_mask(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (!plain_scatter(node)) continue;
    const Node* turned = maker(graph, node.inputs[1], "Transpose");
    const Node* found = turned ? maker(graph, turned->inputs[0], "NonZero") : nullptr;
    if (!found) continue;
    ValueId mask = found->inputs[0];
    DetectResult result =
        site_of(id, node.outputs[0],
                fmt::format("\"{}\" (ScatterND) writes where a mask says, through NonZero", node.name));
    if (const Node* cast = maker(graph, mask, "Cast");
        cast && graph.value(cast->inputs[0]).dtype == DType::boolean)
      mask = cast->inputs[0];
    const Value& data = graph.value(node.inputs[0]);
    const int missing = data.rank() - graph.value(mask).rank();
    const ValueId number = repeated(graph, node.inputs[2]);
    if (number == none_id || data.unranked || missing < 0) {
      results.push_back(
          declined(id, std::move(result.message),
                   "what it writes is more than one number: those come in the order of the marks"));
      continue;
    }
    PatchBuilder patch(graph, context.graph_index, "Where instead of NonZero and ScatterND");
    OnnxBuilder b(patch, working_set(context.model));
    if (graph.value(mask).dtype != DType::boolean) mask = b.cast(mask, DType::boolean);
    Numbers axes;
    for (int axis = 0; axis < missing; ++axis) axes.push_back(graph.value(found->inputs[0]).rank() + axis);
    if (missing > 0) mask = b.unsqueeze(mask, axes);
    const ValueId scalar = graph.value(number).rank() == 0 ? number : b.reshape(number, {});
    b.where(mask, scalar, node.inputs[0], node.outputs[0]);
    patch.remove(id);
    remove_unused(patch);
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md::onnx
