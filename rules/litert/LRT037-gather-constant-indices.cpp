// GATHER with constant indices: before 2.3.0 the kernel cannot be built.
#include <fmt/format.h>

#include "lib/format/tflite/queries.h"
#include "lib/rewrite/select_rows.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT037(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "GATHER" || node.inputs.size() != 2 || !is_runtime_operand(graph, node.inputs[0]))
      continue;
    const Value& data = graph.value(node.inputs[0]);
    auto indices = integer_values(graph, node.inputs[1]);
    if (!indices || graph.value(node.inputs[1]).rank() != 1 || !is_static(data) || data.rank() < 1 ||
        data.rank() > 4)
      continue;
    const std::int64_t axis = node.attrs.integer("axis") < 0 ? node.attrs.integer("axis") + data.rank()
                                                             : node.attrs.integer("axis");
    if (axis < 0 || axis >= data.rank() || node.attrs.integer("batch_dims") != 0) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.inputs[1];
    result.message = fmt::format(
        "GATHER with {} constant indices: before 2.3.0 the accelerator cannot build the kernel, with or "
        "without CPU fallback",
        indices->size());
    PatchBuilder patch(graph, context.graph_index, "slices joined again");
    TfliteBuilder ops(patch);
    Shape in = data.shape, out = ops.shape(node.outputs[0]);
    const std::size_t missing = in.size() < 3 ? 3 - in.size() : 0;
    in.insert(in.begin(), missing, 1);
    out.insert(out.begin(), missing, 1);
    for (std::int64_t& index : *indices)
      if (index < 0) index += in[static_cast<std::size_t>(axis) + missing];
    const ValueId x = missing ? ops.reshape(node.inputs[0], in) : node.inputs[0];
    const ValueId rows = select_rows(ops, x, static_cast<int>(axis + static_cast<std::int64_t>(missing)),
                                     *indices, RowPicker::pieces, missing ? none_id : node.outputs[0]);
    if (rows == none_id) {
      result.state = DetectResult::State::declined;
      result.reason = "the indices would take more than 64 slices; use runtime 2.3.0 or newer";
    } else {
      if (missing) ops.reshape(rows, ops.shape(node.outputs[0]), node.outputs[0]);
      patch.remove(id);
      result.fixes.emplace_back(patch.take());
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
