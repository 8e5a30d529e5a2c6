// TOPK_V2 over rows whose length is not a multiple of 4: the accelerator reads the padding of the last four
// channels as values. Before 2.1.5 more than four results are wrong too, whatever the length.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// More than four results, which only the newer runtimes compute: nothing in the file mends it.
void more_than_four(const DetectContext& context, NodeId id, std::vector<DetectResult>& results) {
  const Node& node = context.graph.node(id);
  const Value& values = context.graph.value(node.outputs[0]);
  if (!context.fails("more than four results") || !is_static(values) || values.rank() < 1 ||
      values.shape.back() <= 4)
    return;
  DetectResult result;
  result.state = DetectResult::State::advice;
  result.nodes = {id};
  result.value = node.outputs[0];
  result.message = fmt::format(
      "TOPK_V2 with {} results: before 2.1.5 the accelerator is right only up to 4; here the output is wrong",
      values.shape.back());
  result.reason = "use runtime 2.1.5 or later, or at most 4 results";
  result.words["fault"] = "results";
  results.push_back(std::move(result));
}

}  // namespace

std::vector<DetectResult> LRT057(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "TOPK_V2" || node.outputs.size() != 2 || !is_float_value(graph, node.inputs[0])) continue;
    const Value& x = graph.value(node.inputs[0]);
    if (!is_static(x) || x.rank() < 1 || x.rank() > 4) continue;
    const std::int64_t length = x.shape.back(), padded = (length + 3) / 4 * 4;
    if (length % 4 == 0) {
      more_than_four(context, id, results);
      continue;
    }
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = fmt::format(
        "TOPK_V2 over {} values: the accelerator reads up to {} values that are not there, and returns them",
        length, padded - length);
    result.words = {{"fault", "rows"}, {"padded", std::to_string(padded)}};
    PatchBuilder patch(graph, context.graph_index, "lengthen the rows with the lowest float");
    TfliteBuilder ops(patch);
    // A constant that is joined on: as the value of a PADV2 so large a number is none in an fp16 shader (and
    // minus infinity is none in any).
    const bool vector = x.rank() == 1;
    const ValueId row = vector ? ops.reshape(node.inputs[0], {1, length}) : node.inputs[0];
    Shape missing = ops.shape(row);
    missing.back() = padded - length;
    const std::vector<double> lowest(static_cast<std::size_t>(*element_count(missing)),
                                     -3.4028234663852886e38);
    const ValueId longer = ops.concatenation({row, ops.floats("lowest", missing, lowest, x.dtype)},
                                             static_cast<int>(missing.size()) - 1);
    if (vector) {
      const std::int64_t k = graph.value(node.outputs[0]).shape.back();
      const ValueId values = ops.value_like(node.outputs[0], {1, k}),
                    indices = ops.value_like(node.outputs[1], {1, k});
      ops.copy_node(node, {longer, node.inputs[1]}, {values, indices});
      ops.reshape(values, ops.shape(node.outputs[0]), node.outputs[0]);
      ops.reshape(indices, ops.shape(node.outputs[1]), node.outputs[1]);
    } else {
      ops.copy_node(node, {longer, node.inputs[1]}, node.outputs);
    }
    patch.remove(id);
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
