// REVERSE_V2 along the channels, when their number is above four and no multiple of four: the accelerator
// turns the four-channel groups around together with their padding.
#include <fmt/format.h>

#include <algorithm>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// Neighbouring axes that are turned alike, as one: turning all of them turns the elements in row-major
/// order.
struct Turned {
  Shape shape;
  std::vector<std::int64_t> axes;
};

Turned merged(const Shape& shape, const std::vector<bool>& turned) {
  Turned result;
  bool last = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (!result.shape.empty() && last == turned[i]) {
      result.shape.back() *= shape[i];
      continue;
    }
    if (turned[i]) result.axes.push_back(static_cast<std::int64_t>(result.shape.size()));
    result.shape.push_back(shape[i]);
    last = turned[i];
  }
  return result;
}

ValueId reversed(PatchBuilder& patch, TfliteBuilder& ops, ValueId x, const std::vector<std::int64_t>& axes) {
  const ValueId out = ops.value_like(x, ops.shape(x));
  patch.add_node("REVERSE_V2", {x, ops.int32s(axes)}, {out});
  return out;
}

Patch away_from_channels(const DetectContext& context, NodeId id, std::vector<bool> turned) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "reverse where the axis is not the last one");
  TfliteBuilder ops(patch);
  ValueId x = node.inputs[0];
  const Shape shape = ops.shape(x);
  Turned view = merged(shape, turned);
  if (view.shape.size() > 3) {  // the other axes first, where they are
    std::vector<std::int64_t> others;
    for (std::size_t i = 0; i + 1 < turned.size(); ++i)
      if (turned[i]) others.push_back(static_cast<std::int64_t>(i));
    std::fill(turned.begin(), turned.end() - 1, false);
    x = reversed(patch, ops, x, others);
    view = merged(shape, turned);
  }
  view.shape.push_back(1);
  x = ops.reshape(x, view.shape);
  x = reversed(patch, ops, x, view.axes);
  ops.reshape(x, shape, node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT061(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "REVERSE_V2" || node.inputs.size() < 2 || !is_runtime_operand(graph, node.inputs[0]))
      continue;
    const Value& input = graph.value(node.inputs[0]);
    const auto axes = integer_values(graph, node.inputs[1]);
    if (!axes || input.rank() < 2 || input.rank() > 4 || !is_static(input)) continue;
    const std::int64_t channels = input.shape.back();
    std::vector<bool> turned(input.shape.size(), false);
    for (const std::int64_t axis : *axes) {
      const std::int64_t place = axis < 0 ? axis + input.rank() : axis;
      if (place >= 0 && place < input.rank()) turned[static_cast<std::size_t>(place)] = true;
    }
    if (!turned.back() || channels <= 4 || channels % 4 == 0) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = fmt::format(
        "REVERSE_V2 of the last axis of [{}]: {} channels are no multiple of four, and the accelerator mixes "
        "padding into them",
        shape_text(input.shape), channels);
    result.fixes.emplace_back(away_from_channels(context, id, turned));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
