// GATHER with a scalar or a table of indices: the accelerator takes a list of them only.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// The indices as a list. A constant gets new bytes of the same numbers, a computed one a RESHAPE.
ValueId as_list(TfliteBuilder& ops, const Graph& graph, ValueId indices) {
  const auto count = element_count(graph.value(indices).shape);
  if (!count) return none_id;
  const auto numbers = integer_values(graph, indices);
  if (!numbers) return graph.value(indices).dtype == DType::i32 ? ops.reshape(indices, {*count}) : none_id;
  return ops.int32s(*numbers);
}

}  // namespace

std::vector<DetectResult> LRT036(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "GATHER" || node.inputs.size() != 2) continue;
    const Value& data = graph.value(node.inputs[0]);
    const Value& indices = graph.value(node.inputs[1]);
    const bool wide = indices.dtype == DType::i64 && indices.is_constant();
    if (indices.rank() == 1 && !wide) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.inputs[1];
    result.message =
        fmt::format("GATHER with indices of shape [{}]{}: the accelerator takes a list of int32 indices only",
                    indices.rank() == 0 ? "" : shape_text(indices.shape), wide ? " and type int64" : "");
    PatchBuilder patch(graph, context.graph_index, "GATHER with a list of indices, then RESHAPE");
    TfliteBuilder ops(patch);
    const std::int64_t axis = node.attrs.integer("axis") < 0 ? node.attrs.integer("axis") + data.rank()
                                                             : node.attrs.integer("axis");
    const ValueId list =
        node.attrs.integer("batch_dims") == 0 && is_static(data) && is_static(indices) && axis < data.rank()
            ? as_list(ops, graph, node.inputs[1])
            : none_id;
    if (list == none_id) {
      result.state = DetectResult::State::declined;
      result.reason =
          "batched gathers, dynamic shapes and computed int64 indices have no form that the accelerator "
          "takes";
    } else {
      const ValueId rows = ops.gather(node.inputs[0], list, static_cast<int>(axis));
      ops.reshape(rows, ops.shape(node.outputs[0]), node.outputs[0]);
      patch.remove(id);
      result.fixes.emplace_back(patch.take());
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
