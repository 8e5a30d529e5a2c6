// SOFTMAX of rows that a constant masks with minus infinity in their first four entries: the accelerator's
// running maximum starts there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

constexpr std::size_t block = 4;

/// A row of `width` whose first block is masked, but not all of it.
bool starts_masked(const std::vector<bool>& masked, std::size_t width) {
  for (std::size_t row = 0; width > block && row + width <= masked.size(); row += width) {
    const auto first = masked.begin() + static_cast<std::ptrdiff_t>(row);
    const auto behind = first + static_cast<std::ptrdiff_t>(block),
               end = first + static_cast<std::ptrdiff_t>(width);
    const auto is_masked = [](bool m) { return m; };
    if (std::all_of(first, behind, is_masked) && !std::all_of(behind, end, is_masked)) return true;
  }
  return false;
}

bool is_lowest(double number) { return std::isinf(number) && number < 0; }

/// The constant, added, masks the start of a row.
bool adds_mask(const Graph& graph, ValueId constant, std::int64_t width) {
  const Value& value = graph.value(constant);
  if (!is_constant_operand(graph, constant) || value.shape.empty() || value.shape.back() != width)
    return false;
  const auto numbers = real_values(graph, constant);
  if (!numbers) return false;
  std::vector<bool> masked(numbers->size());
  std::transform(numbers->begin(), numbers->end(), masked.begin(), is_lowest);
  return starts_masked(masked, static_cast<std::size_t>(width));
}

/// SELECT with a constant condition and minus infinity as one branch.
bool selects_mask(const Graph& graph, const Node& node, std::int64_t width) {
  const Value& condition = graph.value(node.inputs[0]);
  if (!condition.is_constant() || condition.shape.empty() || condition.shape.back() != width) return false;
  const auto keep = real_values(graph, node.inputs[0]);
  if (!keep) return false;
  for (const std::size_t branch : {std::size_t{1}, std::size_t{2}}) {
    const auto low = scalar_value(graph, node.inputs[branch]);
    if (!low || !is_lowest(*low)) continue;
    std::vector<bool> masked(keep->size());
    std::transform(keep->begin(), keep->end(), masked.begin(),
                   [&](double k) { return (k != 0) == (branch == 1); });
    if (starts_masked(masked, static_cast<std::size_t>(width))) return true;
  }
  return false;
}

bool is_masked(const Graph& graph, ValueId value, std::int64_t width, int depth = 4) {
  const Node* node = producer_of(graph, value);
  if (node == nullptr || depth == 0 || node->outputs.size() != 1) return false;
  if (node->op == "RESHAPE") {
    const Shape& shape = graph.value(node->inputs[0]).shape;
    return !shape.empty() && shape.back() == width && is_masked(graph, node->inputs[0], width, depth - 1);
  }
  if ((node->op == "SELECT" || node->op == "SELECT_V2") && node->inputs.size() == 3)
    return selects_mask(graph, *node, width);
  if (node->op != "ADD" || node->inputs.size() != 2) return false;
  return std::any_of(node->inputs.begin(), node->inputs.end(), [&](ValueId in) {
    return adds_mask(graph, in, width) || is_masked(graph, in, width, depth - 1);
  });
}

Patch written_out(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index,
                     "softmax written out, with the maximum of the whole row");
  TfliteBuilder ops(patch);
  const ValueId x = node.inputs[0];
  const Shape last{static_cast<std::int64_t>(ops.shape(x).size()) - 1};
  const ValueId largest = ops.reduce("REDUCE_MAX", x, last);
  const ValueId powers = ops.unary("EXP", ops.binary("SUB", x, largest));
  const ValueId sum = ops.reduce("SUM", powers, last);
  ops.binary("DIV", powers, sum, node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT070(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "SOFTMAX" || node.inputs.empty() || node.attrs.number("beta", 1) != 1) continue;
    const Value& input = graph.value(node.inputs[0]);
    if (!is_static(input) || input.rank() < 2 || input.rank() > 4 || !is_float_value(graph, node.inputs[0]))
      continue;
    if (!is_masked(graph, node.inputs[0], input.shape.back())) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = fmt::format(
        "SOFTMAX of [{}]: a mask of minus infinity covers the first four entries of some rows, and the "
        "accelerator's "
        "running maximum makes NaN of it",
        shape_text(input.shape));
    result.fixes.emplace_back(written_out(context, id));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
