// FULLY_CONNECTED with quantized weights that flattens its rows (rank 3 in, rank 2 out): the accelerator
// cannot write a result whose rows are the batch.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT058(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "FULLY_CONNECTED" || node.inputs.size() < 2 || node.outputs.empty()) continue;
    const Value& input = graph.value(node.inputs[0]);
    const Value& weights = graph.value(node.inputs[1]);
    const Value& output = graph.value(node.outputs[0]);
    if (!weights.is_constant() || !is_integer(weights.dtype) || !is_static(input) || !is_static(output))
      continue;
    if (input.rank() < 3 || output.rank() != 2 || output.shape[0] == 1 ||
        input.shape.back() != weights.shape.back())
      continue;
    PatchBuilder patch(graph, context.graph_index, "keep the dimensions, then RESHAPE");
    TfliteBuilder ops(patch);
    Shape kept = input.shape;
    kept.back() = output.shape[1];
    const ValueId rows = ops.value_like(node.outputs[0], kept);
    ops.copy_node(node, node.inputs, {rows});
    patch.patch().new_nodes.back().attrs.set("keep_num_dims", true);
    patch.patch().new_nodes.back().version = node.version;
    ops.reshape(rows, output.shape, node.outputs[0]);
    patch.remove(id);
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = fmt::format(
        "FULLY_CONNECTED with quantized weights from [{}] to [{}]: the accelerator cannot build the kernel, "
        "with or without CPU fallback",
        shape_text(input.shape), shape_text(output.shape));
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
