// ONE_HOT of indices with several dimensions: which of them each version of the delegate reads was measured.
#include <fmt/format.h>

#include <algorithm>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

bool is_misread(const Shape& indices, const DetectContext& context) {
  if (indices.size() < 2 || indices.size() > 3) return false;
  if (!context.fails("several rows")) return indices.size() == 3 && indices[1] != 1;
  const bool one_row =
      std::all_of(indices.begin(), indices.end() - 1, [](std::int64_t dim) { return dim == 1; });
  return !one_row || (context.fails("one row") && indices.back() != 1);
}

Patch in_one_row(const DetectContext& context, NodeId id, std::int64_t count) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "encode one row of indices");
  TfliteBuilder ops(patch);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = ops.reshape(inputs[0], Shape{count});
  const Shape& out = context.graph.value(node.outputs[0]).shape;
  const ValueId row = ops.value_like(node.outputs[0], Shape{count, out.back()});
  ops.copy_node(node, std::move(inputs), {row});
  ops.reshape(row, out, node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT068(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "ONE_HOT" || node.inputs.size() < 4 || !is_runtime_operand(graph, node.inputs[0]))
      continue;
    const Value& indices = graph.value(node.inputs[0]);
    const std::int64_t axis = node.attrs.integer("axis", -1);
    if (!is_static(indices) || !is_static(graph.value(node.outputs[0])) ||
        (axis != -1 && axis != indices.rank()))
      continue;
    if (!is_misread(indices.shape, context)) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message =
        fmt::format("ONE_HOT of indices [{}]: the accelerator does not read all of their dimensions",
                    shape_text(indices.shape));
    result.fixes.emplace_back(in_one_row(context, id, *element_count(indices.shape)));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
