// SUM times 1/N: the sum is kept in fp16 and passes 65504, where MEAN accumulates wider.
#include <fmt/format.h>

#include <cmath>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rewrite/unused_nodes.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

constexpr double largest_half = 65504;
constexpr double long_sum =
    1024;  ///< terms from which a bare sum is worth a word: a mean of 64 passes the limit

double terms_of(const Graph& graph, const Node& sum) {
  const auto axes = reduction_axes(graph, sum);
  double terms = axes && !axes->empty() ? 1 : 0;
  if (axes)
    for (const std::int64_t axis : *axes)
      terms *= static_cast<double>(graph.value(sum.inputs[0]).shape[static_cast<std::size_t>(axis)]);
  return terms;
}

/// The MUL or DIV by a constant that reads the sum alone, behind reshapes, and its factor.
struct Averaging {
  NodeId node = none_id;
  double factor = 0;
};
Averaging averaging_of(const Graph& graph, ValueId sum) {
  ValueId value = sum;
  for (int depth = 0; depth < 4 && is_private(graph, value); ++depth) {
    const NodeId reader = only_reader(graph, value);
    const Node& node = graph.node(reader);
    if (node.op == "RESHAPE") {
      value = node.outputs[0];
      continue;
    }
    if ((node.op != "MUL" && node.op != "DIV") || node.inputs.size() != 2 || fused_activation(node) != "NONE")
      return {};
    const std::size_t at = node.inputs[0] == value ? 0 : 1;
    const auto constant = scalar_value(graph, node.inputs[1 - at]);
    if (!constant || *constant == 0 || (node.op == "DIV" && at == 1)) return {};
    return {reader, node.op == "MUL" ? *constant : 1 / *constant};
  }
  return {};
}

Patch mean_patch(const DetectContext& context, NodeId sum, const Averaging& averaging, double terms) {
  const Graph& graph = context.graph;
  const Node& old = graph.node(sum);
  PatchBuilder patch(graph, context.graph_index, "MEAN");
  TfliteBuilder ops(patch);
  const ValueId out = graph.node(averaging.node).outputs[0];
  const double rest = averaging.factor * terms;
  const bool exact_mean = std::abs(rest - 1) < 1e-5;
  const bool same_shape = ops.shape(out) == ops.shape(old.outputs[0]);
  const ValueId mean =
      exact_mean && same_shape ? out : ops.value_like(old.outputs[0], ops.shape(old.outputs[0]));
  ops.copy_node(old, old.inputs, {mean});
  patch.patch().new_nodes.back().op = "MEAN";
  if (!exact_mean) {
    const ValueId factor = ops.floats("factor", {}, {&rest, 1}, graph.value(out).dtype);
    const ValueId scaled = ops.binary("MUL", mean, factor, same_shape ? out : none_id);
    if (!same_shape) ops.reshape(scaled, ops.shape(out), out);
  } else if (!same_shape) {
    ops.reshape(mean, ops.shape(out), out);
  }
  patch.remove(averaging.node);
  remove_unused(patch);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> F16001(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "SUM" || node.inputs.size() < 2 || !is_float_value(graph, node.inputs[0]) ||
        !is_static(graph.value(node.inputs[0])))
      continue;
    const double terms = terms_of(graph, node);
    if (terms < 2) continue;
    const Averaging averaging = averaging_of(graph, node.outputs[0]);
    const double rest = averaging.factor * terms;
    DetectResult result;
    result.nodes = {id};
    result.value = node.inputs[0];
    result.likelihood = Likelihood::possible;
    if (averaging.node != none_id && rest > 0.4 && rest < 2.5) {
      result.nodes.push_back(averaging.node);
      result.message = fmt::format(
          "a mean of {:.0f} values written as SUM and a factor: in fp16 the sum passes 65504 when the mean "
          "reaches {:.3g}",
          terms, largest_half / terms);
      result.fixes.emplace_back(mean_patch(context, id, averaging, terms));
    } else if (terms >= long_sum && averaging.node == none_id && graph.is_output(node.outputs[0])) {
      result.state = DetectResult::State::advice;
      result.message = fmt::format(
          "the output \"{}\" is a sum of {:.0f} values: in fp16 it passes 65504 when their mean reaches "
          "{:.3g}, and no rewrite can hold it",
          graph.value(node.outputs[0]).name, terms, largest_half / terms);
      result.reason = "return the mean and multiply by the count on the host, or keep this model in fp32";
    } else {
      continue;
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
