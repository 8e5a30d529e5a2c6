// What follows from the meaning of TFLite's operators beside their primitive: lengths of sums, multiply-adds,
// ranges of results, and which operands are indices.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "lib/eval/kernel.h"
#include "lib/format/tflite/operators.h"
#include "lib/graph/encode.h"
#include "lib/op/work.h"

namespace md {
namespace {

// --- sums
// ----------------------------------------------------------------------------------------------------

std::int64_t result_elements(const Graph& graph, const Node& node) {
  if (node.outputs.empty() || node.outputs[0] < 0) return 1;
  return bounded_elements(graph.value(node.outputs[0]).shape);
}

std::int64_t operand_elements(const Graph& graph, const Node& node) {
  const Shape* shape = operand_shape(graph, node, 0);
  return shape ? bounded_elements(*shape) : result_elements(graph, node);
}

std::int64_t no_work(const Graph&, const Node&) { return 0; }

/// A filter of [filters, ..., channels].
std::int64_t terms_of_filter(const Graph& graph, const Node& node) {
  const Shape* filter = operand_shape(graph, node, 1);
  if (!filter || filter->empty()) return 1;
  return bounded_elements(*filter) / std::max<std::int64_t>((*filter)[0], 1);
}

/// A matrix of [units, features].
std::int64_t features(const Graph& graph, const Node& node) {
  const Shape* matrix = operand_shape(graph, node, 1);
  return matrix ? dimension_from_end(*matrix, 1) : 1;
}

std::int64_t terms_of_transposed(const Graph& graph, const Node& node) {
  const Shape* filter = operand_shape(graph, node, 1);
  return filter ? bounded_elements(*filter) : 1;
}

/// A filter of [1, height, width, channels].
std::int64_t terms_of_depthwise(const Graph& graph, const Node& node) {
  const Shape* filter = operand_shape(graph, node, 1);
  return filter && filter->size() == 4 ? bounded_elements({(*filter)[1], (*filter)[2]}) : 1;
}

/// A filter whose last dimension counts the results' channels.
std::int64_t terms_before_last(const Graph& graph, const Node& node) {
  const Shape* filter = operand_shape(graph, node, 1);
  return filter ? bounded_elements(*filter) / dimension_from_end(*filter, 1) : 1;
}

std::int64_t terms_of_product(const Graph& graph, const Node& node) {
  const Shape* left = operand_shape(graph, node, 0);
  return left ? dimension_from_end(*left, node.attrs.flag("adj_x") ? 2 : 1) : 1;
}

std::int64_t terms_of_reduction(const Graph& graph, const Node& node) {
  return operand_elements(graph, node) / std::max<std::int64_t>(result_elements(graph, node), 1);
}

std::int64_t last_axis(const Graph& graph, const Node& node) {
  const Shape* shape = operand_shape(graph, node, 0);
  return shape ? dimension_from_end(*shape, 1) : 1;
}

std::int64_t terms_of_pool(const Graph&, const Node& node) {
  return bounded_product(std::max<std::int64_t>(node.attrs.integer("filter_height", 1), 1),
                         std::max<std::int64_t>(node.attrs.integer("filter_width", 1), 1));
}

using Count = std::int64_t (*)(const Graph&, const Node&);

template <Count terms>
std::int64_t each_result(const Graph& graph, const Node& node) {
  return bounded_product(result_elements(graph, node), terms(graph, node));
}

/// Each element of the input meets the whole filter of its channel.
std::int64_t work_of_transposed(const Graph& graph, const Node& node) {
  const Shape *filter = operand_shape(graph, node, 1), *input = operand_shape(graph, node, 2);
  if (!filter || !input || filter->empty()) return result_elements(graph, node);
  return bounded_product(bounded_elements(*input) / dimension_from_end(*input, 1), bounded_elements(*filter));
}

struct Sums {
  std::string_view op;
  Count terms, multiply_adds;
};

constexpr Sums sums[] = {
    {"FULLY_CONNECTED", features, each_result<features>},
    {"BATCH_MATMUL", terms_of_product, each_result<terms_of_product>},
    {"CONV_2D", terms_of_filter, each_result<terms_of_filter>},
    {"CONV_3D", terms_before_last, each_result<terms_before_last>},
    {"DEPTHWISE_CONV_2D", terms_of_depthwise, each_result<terms_before_last>},
    {"TRANSPOSE_CONV", terms_of_transposed, work_of_transposed},
    {"SUM", terms_of_reduction, operand_elements},
    {"MEAN", terms_of_reduction, operand_elements},
    {"REDUCE_PROD", terms_of_reduction, operand_elements},
    {"REDUCE_MAX", nullptr, operand_elements},
    {"REDUCE_MIN", nullptr, operand_elements},
    {"REDUCE_ANY", nullptr, operand_elements},
    {"REDUCE_ALL", nullptr, operand_elements},
    {"CUMSUM", operand_elements, nullptr},
    {"SOFTMAX", last_axis, nullptr},
    {"LOG_SOFTMAX", last_axis, nullptr},
    {"L2_NORMALIZATION", last_axis, nullptr},
    {"AVERAGE_POOL_2D", terms_of_pool, operand_elements},
    {"MAX_POOL_2D", nullptr, operand_elements},
    {"L2_POOL_2D", terms_of_pool, operand_elements},
    // Other encodings of the same numbers, and a number of the model: nothing to multiply.
    {"CAST", nullptr, no_work},
    {"QUANTIZE", nullptr, no_work},
    {"DEQUANTIZE", nullptr, no_work},
    {"SHAPE", nullptr, no_work},
};

// --- ranges
// --------------------------------------------------------------------------------------------------

constexpr double infinity = HUGE_VAL;
using Range = std::optional<ValueRange>;
using RangeRule = Range (*)(const Node& node, const RangeOf& operand);

ValueRange join(ValueRange a, ValueRange b) {
  return {.low = std::min(a.low, b.low), .high = std::max(a.high, b.high)};
}

Range at(const Node& node, const RangeOf& operand, std::size_t i) {
  return i < node.inputs.size() ? operand(node.inputs[i]) : std::nullopt;
}

template <std::size_t i>
Range keeps(const Node& node, const RangeOf& operand) {
  return at(node, operand, i);
}

/// Rounding to steps may pass a bound by half a step, but not zero, which is a step.
Range keeps_sign(const Node& node, const RangeOf& operand) {
  const Range x = at(node, operand, 0);
  if (!x || (x->low < 0 && x->high > 0)) return std::nullopt;
  return x->low >= 0 ? ValueRange{.low = 0} : ValueRange{.high = 0};
}

/// One of the operands from `first` on.
template <std::size_t first>
Range joins(const Node& node, const RangeOf& operand) {
  Range range;
  for (std::size_t i = first; i < node.inputs.size(); ++i) {
    const Range part = at(node, operand, i);
    if (!part) return std::nullopt;
    range = range ? join(*range, *part) : *part;
  }
  return range;
}

Range joins_zero(const Node& node, const RangeOf& operand) {
  const Range x = at(node, operand, 0);
  return x ? Range(join(*x, {.low = 0, .high = 0})) : std::nullopt;
}

Range joins_fill(const Node& node, const RangeOf& operand) {
  const Range x = at(node, operand, 0), fill = at(node, operand, 2);
  return x && fill ? Range(join(*x, *fill)) : std::nullopt;
}

template <bool largest>
Range clamps(const Node& node, const RangeOf& operand) {
  const ValueRange x = at(node, operand, 0).value_or(ValueRange()),
                   y = at(node, operand, 1).value_or(ValueRange());
  if (largest) return ValueRange{.low = std::max(x.low, y.low), .high = std::max(x.high, y.high)};
  return ValueRange{.low = std::min(x.low, y.low), .high = std::min(x.high, y.high)};
}

Range adds(const Node& node, const RangeOf& operand) {
  const Range x = at(node, operand, 0), y = at(node, operand, 1);
  if (!x || !y) return std::nullopt;
  const ValueRange sum{.low = x->low + y->low, .high = x->high + y->high};
  return std::isnan(sum.low) || std::isnan(sum.high) ? std::nullopt : Range(sum);
}

/// Of numbers that are not negative, and of a number with itself.
Range multiplies(const Node& node, const RangeOf& operand) {
  if (node.inputs.size() == 2 && node.inputs[0] == node.inputs[1]) return ValueRange{.low = 0};
  const Range x = at(node, operand, 0), y = at(node, operand, 1);
  if (!x || !y || x->low < 0 || y->low < 0) return std::nullopt;
  const double high = x->high * y->high;
  return ValueRange{.low = x->low * y->low, .high = std::isnan(high) ? infinity : high};
}

Range negates(const Node& node, const RangeOf& operand) {
  const Range x = at(node, operand, 0);
  return x ? Range(ValueRange{.low = -x->high, .high = -x->low}) : std::nullopt;
}

Range unknown(const Node&, const RangeOf&) { return std::nullopt; }
Range not_negative(const Node&, const RangeOf&) { return ValueRange{.low = 0}; }
Range to_six(const Node&, const RangeOf&) { return ValueRange{.low = 0, .high = 6}; }
Range to_one(const Node&, const RangeOf&) { return ValueRange{.low = 0, .high = 1}; }
Range around_zero(const Node&, const RangeOf&) { return ValueRange{.low = -1, .high = 1}; }

/// The range that the fused activation gives, else that of the operator itself.
template <RangeRule inner>
Range activated(const Node& node, const RangeOf& operand) {
  const std::string_view activation = node.attrs.text("fused_activation_function");
  if (activation == "RELU") return not_negative(node, operand);
  if (activation == "RELU6") return to_six(node, operand);
  if (activation == "RELU_N1_TO_1" || activation == "TANH") return around_zero(node, operand);
  return inner(node, operand);
}

constexpr std::pair<std::string_view, RangeRule> ranges[] = {
    {"RELU ABS EXP SQUARE SQRT RSQRT SQUARED_DIFFERENCE", not_negative},
    {"RELU6", to_six},
    {"RELU_0_TO_1 LOGISTIC SOFTMAX", to_one},
    {"RELU_N1_TO_1 TANH SIN COS SIGN", around_zero},
    {"RESHAPE TRANSPOSE SLICE STRIDED_SLICE GATHER GATHER_ND TILE BROADCAST_TO SQUEEZE EXPAND_DIMS MEAN "
     "REDUCE_MAX REDUCE_MIN RESIZE_NEAREST_NEIGHBOR RESIZE_BILINEAR MIRROR_PAD REVERSE_V2 DEPTH_TO_SPACE "
     "SPACE_TO_DEPTH UNPACK SPLIT_V",
     keeps<0>},
    {"MAX_POOL_2D AVERAGE_POOL_2D", activated<keeps<0>>},
    {"QUANTIZE DEQUANTIZE", keeps_sign},
    {"SPLIT", keeps<1>},
    {"PACK", joins<0>},
    {"CONCATENATION", activated<joins<0>>},
    {"SELECT SELECT_V2", joins<1>},
    {"PAD", joins_zero},
    {"PADV2", joins_fill},
    {"MAXIMUM", clamps<true>},
    {"MINIMUM", clamps<false>},
    {"ADD", activated<adds>},
    {"MUL", activated<multiplies>},
    {"NEG", negates},
};

// --- indices
// -------------------------------------------------------------------------------------------------

using Uses = std::vector<IndexUse>;

std::int64_t dimension(const Graph& graph, const Node& node, std::size_t operand, std::int64_t axis) {
  const Shape* shape = operand_shape(graph, node, operand);
  const auto place = shape ? normal_axis(axis, shape->size()) : std::nullopt;
  return place ? (*shape)[*place] : 0;
}

Uses of_axis(const Graph& graph, const Node& node) {
  return {{.operand = 1, .size = dimension(graph, node, 0, node.attrs.integer("axis"))}};
}

/// Rows of the last dimension's length, one number a leading axis of the data.
Uses of_leading_axes(const Graph& graph, const Node& node) {
  const Shape *data = operand_shape(graph, node, 0), *rows = operand_shape(graph, node, 1);
  if (!data || !rows) return {};
  const std::int64_t axes = rows->empty() ? 1 : std::max<std::int64_t>(1, rows->back());
  Uses uses;
  for (std::size_t d = 0; d < data->size() && static_cast<std::int64_t>(d) < axes; ++d)
    uses.push_back({.operand = 1, .size = (*data)[d]});
  return uses;
}

Uses of_result(const Graph& graph, const Node& node) {
  Uses uses;
  if (node.outputs.empty() || node.outputs[0] < 0) return uses;
  for (const std::int64_t d : graph.value(node.outputs[0]).shape) uses.push_back({.operand = 0, .size = d});
  return uses;
}

Uses of_table(const Graph& graph, const Node& node) {
  return {{.operand = 0, .size = dimension(graph, node, 1, 0)}};
}

Uses of_axes(const Graph& graph, const Node& node, std::string_view attribute) {
  Uses uses;
  if (const auto* axes = node.attrs.integers(attribute))
    for (const std::int64_t axis : *axes)
      uses.push_back({.operand = 1, .size = dimension(graph, node, 0, axis)});
  return uses;
}

Uses of_start_map(const Graph& graph, const Node& node) { return of_axes(graph, node, "start_index_map"); }
Uses of_scatter_map(const Graph& graph, const Node& node) {
  return of_axes(graph, node, "scatter_dims_to_operand_dims");
}

/// Up to the depth, which is outside the axis already: such an index gives a row of off values, and samples
/// that hold nothing else would tell no two codes apart.
Uses of_depth(const Graph& graph, const Node& node) {
  const auto depth =
      node.inputs.size() > 1 && node.inputs[1] >= 0 ? decode(graph.value(node.inputs[1])) : std::nullopt;
  if (!depth || depth->size() != 1 || !((*depth)[0] >= 1 && (*depth)[0] < 2147483647.0)) return {};
  return {{.operand = 0, .size = static_cast<std::int64_t>((*depth)[0]) + 1}};
}

constexpr std::pair<std::string_view, Uses (*)(const Graph&, const Node&)> indices[] = {
    {"GATHER", of_axis},
    {"ONE_HOT", of_depth},
    {"GATHER_ND", of_leading_axes},
    {"SCATTER_ND", of_result},
    {"EMBEDDING_LOOKUP", of_table},
    {"STABLEHLO_GATHER", of_start_map},
    {"STABLEHLO_SCATTER", of_scatter_map},
};

OpSpec& row_named(OpTable& table, std::string_view op) {
  const auto found =
      std::lower_bound(table.ops.begin(), table.ops.end(), op,
                       [](const OpSpec& row, std::string_view text) { return row.name < text; });
  assert(found != table.ops.end() && found->name == op);
  return *found;
}

}  // namespace

void add_operator_facts(OpTable& table) {
  for (OpSpec& row : table.ops)
    if (row.find("fused_activation_function")) row.range = activated<unknown>;
  for (const Sums& each : sums) {
    OpSpec& row = row_named(table, each.op);
    row.terms = each.terms;
    row.multiply_adds = each.multiply_adds;
  }
  for (const auto& [names, rule] : ranges)
    for (std::string_view rest = names; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      row_named(table, rest.substr(0, end)).range = rule;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  for (const auto& [op, rule] : indices) row_named(table, op).indices = rule;
  row_named(table, "SHAPE").gives_shape = true;
  for (const std::string_view op : {"CUSTOM", "STABLEHLO_COMPOSITE"}) row_named(table, op).named = true;
  for (const std::string_view op : {"IF", "STABLEHLO_CASE"}) row_named(table, op).chooses = true;
  for (const std::string_view op : {"DEQUANTIZE", "DENSIFY"}) row_named(table, op).restores = true;
}

}  // namespace md
