// Rewrites of what one operator reads: the same numbers under another shape, in another type, through a copy.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rewrite/families.h"

namespace md::rewrites {
namespace {

/// Operand `i` of the root under another shape: a RESHAPE of a computed value, new bytes of a constant.
std::vector<DetectResult> reshaped_operand(const RewriteSite& site) {
  const Graph& graph = site.context.graph;
  const auto place = static_cast<std::size_t>(site.arguments[0].number);
  const Node& node = graph.node(site.root);
  if (place >= node.inputs.size() || node.inputs[place] < 0) return declined("the operand is absent");
  const ValueId operand = node.inputs[place];
  const Shape wanted(site.arguments[1].list.begin(), site.arguments[1].list.end());
  if (!is_static(graph.value(operand)))
    return declined(
        fmt::format("\"{}\" has a dimension that is not known before run time", graph.value(operand).name));
  if (site.arguments[1].kind != Datum::Kind::list ||
      element_count(wanted) != element_count(graph.value(operand).shape))
    return declined(fmt::format("\"{}\" has another number of elements", graph.value(operand).name));
  PatchBuilder patch(graph, site.context.graph_index, title_of(site, "another shape of the operand"));
  TfliteBuilder ops(patch);
  ValueId moved = operand;
  if (is_constant_operand(graph, operand)) {
    moved = ops.move(operand, StridedView::whole(graph.value(operand).shape), wanted);
    if (moved == none_id) return declined("the operand is a quantized or sparse constant");
  }
  // move() gives the value itself when no operator is needed for the view: then only its shape is missing.
  patch.rewire(site.root, static_cast<int>(place), moved == operand ? ops.reshape(operand, wanted) : moved);
  return fixed_by(patch.take());
}

/// Constant parameters (paddings, permutation, axes, begin, size) in int64 as int32.
std::vector<DetectResult> int32_parameters(const RewriteSite& site) {
  const Graph& graph = site.context.graph;
  const Node& node = graph.node(site.root);
  PatchBuilder patch(graph, site.context.graph_index, title_of(site, "int32 parameters"));
  DetectResult result;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const ValueId parameter = node.inputs[i];
    if (parameter < 0 || graph.value(parameter).dtype != DType::i64 || !graph.value(parameter).is_constant())
      continue;
    const auto numbers = integer_values(graph, parameter);
    const auto fits = [](std::int64_t n) {
      return n >= std::numeric_limits<std::int32_t>::min() && n <= std::numeric_limits<std::int32_t>::max();
    };
    if (result.value == none_id) result.value = parameter;
    if (!numbers || !std::all_of(numbers->begin(), numbers->end(), fits)) {
      result.state = DetectResult::State::declined;
      result.reason = "a parameter does not fit into 32 bits";
      continue;
    }
    const std::vector<double> values(numbers->begin(), numbers->end());
    patch.rewire(
        site.root, static_cast<int>(i),
        patch.add_constant(graph.value(parameter).name, DType::i32, graph.value(parameter).shape, values));
  }
  if (result.value == none_id) return {};
  result.words["parameter"] = graph.value(result.value).name;
  if (result.state == DetectResult::State::matched) result.fixes.emplace_back(patch.take());
  return {std::move(result)};
}

/// A MUL by 1.0 between a value and the root: bit for bit the same, and nothing fuses across it.
std::vector<DetectResult> multiplied_by_one(const RewriteSite& site) {
  const Graph& graph = site.context.graph;
  const ValueId value = site.arguments[0].value;
  if (site.arguments[0].kind != Datum::Kind::value || value < 0) return declined("the operand is absent");
  PatchBuilder patch(graph, site.context.graph_index, title_of(site, "MUL by 1.0 in between"));
  TfliteBuilder ops(patch);
  const double one = 1;
  const ValueId made = ops.binary("MUL", value, ops.floats("one", {}, {&one, 1}, graph.value(value).dtype));
  const auto& inputs = graph.node(site.root).inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] == value) patch.rewire(site.root, static_cast<int>(i), made);
  return fixed_by(patch.take());
}

constexpr NamedRewrite table[] = {
    {"int32_parameters", 0, 0, "", "int64 constants that the operator reads as parameters, stored as int32",
     int32_parameters},
    {"multiplied_by_one", 1, 1, "a value that the operator reads",
     "a MUL by 1.0 in front of the operator: bit for bit the same, and nothing fuses across it",
     multiplied_by_one},
    {"reshaped_operand", 2, 2, "an operand's position and a shape",
     "the operand under another shape: a RESHAPE, or new bytes of a constant", reshaped_operand},
};

}  // namespace

std::span<const NamedRewrite> operand_rewrites() { return table; }

}  // namespace md::rewrites
