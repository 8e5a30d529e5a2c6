// SHAPE, RANK, FILL, RANGE, ZEROS_LIKE and the like, whose result is known when the file is read.
#include <fmt/format.h>

#include <algorithm>

#include "lib/eval/fold.h"
#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/graph/encode.h"
#include "lib/rewrite/unused_nodes.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// What the node gives, as a constant; nullopt when it depends on run-time values.
std::optional<Value> known_result(const DetectContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const Value& out = graph.value(node.outputs[0]);
  const auto from_numbers = [&](const std::vector<double>& numbers) {
    Value value = out;
    value.constant = Constant::own(encode(out.dtype, out.shape, numbers));
    return value;
  };
  if (node.op == "SHAPE" && is_static(graph.value(node.inputs[0]))) {
    const Shape& shape = graph.value(node.inputs[0]).shape;
    return from_numbers(std::vector<double>(shape.begin(), shape.end()));
  }
  if (node.op == "RANK") return from_numbers({static_cast<double>(graph.value(node.inputs[0]).rank())});
  if (node.op == "ZEROS_LIKE" && is_static(out) && !out.quantization)
    return from_numbers(std::vector<double>(static_cast<std::size_t>(*element_count(out.shape)), 0.0));
  if (!depends_on_constants_only(graph, node.outputs[0])) return std::nullopt;
  const auto folded = fold_value(context.model, context.graph_index, node.outputs[0]);
  return folded ? std::optional(constant_value(out.name, *folded)) : std::nullopt;
}

/// A graph output cannot be a bare constant when no operator is left to run: min(relu(x), 0) is 0 for every
/// x.
Patch zeros_from_input(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "MINIMUM(RELU(x), 0)");
  TfliteBuilder ops(patch);
  const double zero = 0;
  ops.binary("MINIMUM", ops.unary("RELU", node.inputs[0]),
             ops.floats("zero", {}, {&zero, 1}, context.graph.value(node.outputs[0]).dtype), node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

Patch constant_result(const DetectContext& context, NodeId id, Value constant) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "store the result");
  patch.patch().new_values.push_back(std::move(constant));
  const ValueId stored = new_value(0);
  for (const Use& use : context.graph.uses(node.outputs[0])) patch.rewire(use.node, use.operand, stored);
  patch.remove(id);
  remove_unused(patch);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT030(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.outputs.empty()) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = fmt::format("{}: the accelerator has no kernel for it", node.op);
    const bool is_output = graph.is_output(node.outputs[0]);
    if (is_output && node.op == "ZEROS_LIKE" && is_float_value(graph, node.outputs[0])) {
      result.fixes.emplace_back(zeros_from_input(context, id));
    } else if (auto constant = is_output ? std::nullopt : known_result(context, node)) {
      result.message += ", and its result is known";
      result.fixes.emplace_back(constant_result(context, id, std::move(*constant)));
    } else {
      result.state = DetectResult::State::declined;
      result.reason = is_output ? "it is an output of the model"
                                : "its result depends on shapes or values that are known at run time only; "
                                  "pin the input shapes";
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
