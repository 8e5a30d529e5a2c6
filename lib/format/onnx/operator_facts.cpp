#include "lib/format/onnx/operator_facts.h"

#include <algorithm>
#include <cmath>

#include "lib/eval/kernel.h"
#include "lib/op/constants.h"
#include "lib/op/work.h"

namespace md {
namespace {

// --- what operators are: by name, in all versions. An operator of com.microsoft that is not listed is what
// the default domain's of the same name is.

struct Trait {
  std::string_view words, ops;
};

constexpr Trait traits[] = {
    {"unary",
     "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid "
     "HardSwish LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus "
     "Softsign Sqrt Swish Tan Tanh ThresholdedRelu QuickGelu"},
    {"map",
     "BitCast Cast CastLike Clip IsInf IsNaN DequantizeLinear QuantizeLinear FastGelu QLinearLeakyRelu "
     "QLinearSigmoid"},
    {"binary", "Div Sub BitShift Mod"},
    {"binary commutative", "Add Mul And Or Xor BitwiseAnd BitwiseOr BitwiseXor"},
    {"compare", "Greater GreaterOrEqual Less LessOrEqual"},
    {"compare commutative", "Equal"},
    {"zip",
     "Max Mean Min PRelu Pow Sum BiasAdd BiasGelu BiasSplitGelu QLinearAdd QLinearMul MulInteger ComplexMul "
     "ComplexMulConj SwiGLU"},
    {"select", "Where QLinearWhere"},
    {"reduce",
     "ArgMax ArgMin BatchNormalization CumProd CumSum DynamicQuantizeLinear GlobalAveragePool GlobalLpPool "
     "GlobalMaxPool GroupNormalization Hardmax InstanceNormalization LRN LayerNormalization LogSoftmax "
     "LpNormalization MeanVarianceNormalization NegativeLogLikelihoodLoss RMSNormalization ReduceL1 ReduceL2 "
     "ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare "
     "Softmax "
     "SoftmaxCrossEntropyLoss SimplifiedLayerNormalization SkipLayerNormalization GroupNorm SkipGroupNorm "
     "SkipSimplifiedLayerNormalization EmbedLayerNormalization QLinearGlobalAveragePool QLinearReduceMean "
     "QLinearSoftmax BiasSoftmax IsAllFinite ReduceSumInteger"},
    {"contract",
     "Attention DFT Einsum GRU Gemm LSTM LinearAttention MatMul MatMulInteger QLinearMatMul RNN STFT CDist "
     "DynamicQuantizeLSTM DynamicQuantizeMatMul FusedGemm FusedMatMul GemmFastGelu GroupQueryAttention Irfft "
     "LongformerAttention MatMulBnb4 MatMulFpQ4 MatMulInteger16 MatMulIntegerToFloat MatMulNBits MoE "
     "MultiHeadAttention PackedAttention PackedMultiHeadAttention QAttention QGemm QMoE Rfft SparseAttention "
     "SparseToDenseMatMul TransposeMatMul DecoderMaskedMultiHeadAttention"},
    {"window",
     "AveragePool CausalConvWithState Col2Im Conv ConvInteger ConvTranspose DeformConv GridSample LpPool "
     "MaxPool "
     "MaxRoiPool MaxUnpool QLinearConv Resize RoiAlign Upsample ConvTransposeWithDynamicPads CropAndResize "
     "FusedConv MaxpoolWithMask NhwcConv NhwcFusedConv NhwcMaxPool QLinearAveragePool"},
    {"move",
     "CenterCropPad Concat ConstantOfShape DepthToSpace Dropout Expand Flatten Identity Pad Reshape "
     "ReverseSequence Slice SpaceToDepth Split Squeeze Tile Transpose Trilu Unsqueeze ExpandDims "
     "UnfoldTensor"},
    {"gather", "Gather GatherElements GatherND Compress RemovePadding RestorePadding"},
    {"scatter", "Scatter ScatterElements ScatterND TensorScatter OneHot"},
    {"sort", "TopK Unique NonMaxSuppression"},
    {"random",
     "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike Sampling"},
    {"control", "If Loop Scan SequenceMap BeamSearch GreedySearch WhisperBeamSearch"},
    {"kind",
     "Clip PRelu Pow Sum Max Min Mean Expand Flatten Identity Pad Reshape Slice Squeeze Tile Transpose Trilu "
     "Unsqueeze Concat DepthToSpace SpaceToDepth Gather GatherElements GatherND ReduceL1 ReduceL2 "
     "ReduceLogSum "
     "ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Softmax LogSoftmax "
     "MatMul Gemm Conv ConvTranspose AveragePool MaxPool GlobalAveragePool GlobalMaxPool BatchNormalization "
     "LayerNormalization InstanceNormalization Resize"},
};

bool lists(std::string_view names, std::string_view op) {
  for (std::size_t at = names.find(op); at != std::string_view::npos; at = names.find(op, at + 1)) {
    const std::size_t end = at + op.size();
    if ((at == 0 || names[at - 1] == ' ') && (end == names.size() || names[end] == ' ')) return true;
  }
  return false;
}

void add_trait(OpSpec& row, std::string_view trait) {
  static constexpr std::pair<std::string_view, Primitive> primitives[] = {
      {"map", Primitive::map},       {"unary", Primitive::map},         {"zip", Primitive::zip},
      {"binary", Primitive::zip},    {"compare", Primitive::zip},       {"select", Primitive::select},
      {"reduce", Primitive::reduce}, {"contract", Primitive::contract}, {"window", Primitive::window},
      {"move", Primitive::move},     {"gather", Primitive::gather},     {"scatter", Primitive::scatter},
      {"sort", Primitive::sort},     {"random", Primitive::random},     {"control", Primitive::control},
  };
  for (const auto& [word, primitive] : primitives)
    if (trait == word) row.primitive = primitive;
  if (trait == "unary") row.unary = row.keeps_kind = true;
  if (trait == "binary") row.binary = row.keeps_kind = true;
  if (trait == "compare") row.compare = true;
  if (trait == "commutative") row.commutative = true;
  if (trait == "kind") row.keeps_kind = true;
}

// --- sums

std::int64_t result_elements(const Graph& graph, const Node& node) {
  if (node.outputs.empty() || node.outputs[0] < 0) return 1;
  return bounded_elements(graph.value(node.outputs[0]).shape);
}

std::int64_t operand_elements(const Graph& graph, const Node& node) {
  const Shape* shape = operand_shape(graph, node, 0);
  return shape ? bounded_elements(*shape) : result_elements(graph, node);
}

std::int64_t no_work(const Graph&, const Node&) { return 0; }

/// A filter of [filters, channels of a group, ...].
template <std::size_t operand>
std::int64_t terms_of_filter(const Graph& graph, const Node& node) {
  const Shape* filter = operand_shape(graph, node, operand);
  if (!filter || filter->empty()) return 1;
  return bounded_elements(*filter) / std::max<std::int64_t>((*filter)[0], 1);
}

/// A filter of [channels, filters of a group, ...].
std::int64_t terms_of_transposed(const Graph& graph, const Node& node) {
  const Shape* filter = operand_shape(graph, node, 1);
  if (!filter || filter->size() < 2) return 1;
  const std::int64_t groups = std::max<std::int64_t>(node.attrs.integer("group", 1), 1);
  return std::max<std::int64_t>(bounded_elements(*filter) / std::max<std::int64_t>((*filter)[1], 1) / groups,
                                1);
}

/// Each element of the input meets the whole filter of its channel.
std::int64_t work_of_transposed(const Graph& graph, const Node& node) {
  const Shape *image = operand_shape(graph, node, 0), *filter = operand_shape(graph, node, 1);
  if (!image || !filter || filter->empty()) return result_elements(graph, node);
  return bounded_product(bounded_elements(*image),
                         bounded_elements(*filter) / std::max<std::int64_t>((*filter)[0], 1));
}

std::int64_t terms_of_product(const Graph& graph, const Node& node) {
  const Shape* left = operand_shape(graph, node, 0);
  return left ? dimension_from_end(*left, node.attrs.flag("transA") ? 2 : 1) : 1;
}

/// Of attention: the scores' sums over a head, and over the keys.
std::int64_t terms_of_attention(const Graph& graph, const Node& node) {
  std::int64_t most = 1;
  for (std::size_t i = 0; i < 2; ++i)
    if (const Shape* shape = operand_shape(graph, node, i))
      most = std::max({most, dimension_from_end(*shape, 1), dimension_from_end(*shape, 2)});
  return most;
}

std::int64_t terms_of_reduction(const Graph& graph, const Node& node) {
  return operand_elements(graph, node) / std::max<std::int64_t>(result_elements(graph, node), 1);
}

/// From the attribute axis on (opset 12 and before), or along it alone.
std::int64_t terms_along_axis(const Graph& graph, const Node& node) {
  const Shape* shape = operand_shape(graph, node, 0);
  if (!shape) return 1;
  const bool last = node.version >= 13 || node.op == "LayerNormalization" || node.op == "RMSNormalization";
  const auto axis = normal_axis(node.attrs.integer("axis", last ? -1 : 1), shape->size());
  if (!axis) return 1;
  const bool softmax = node.op == "Softmax" || node.op == "LogSoftmax";
  if (softmax && node.version >= 13) return std::max<std::int64_t>((*shape)[*axis], 1);
  return bounded_elements(Shape(shape->begin() + static_cast<std::ptrdiff_t>(*axis), shape->end()));
}

std::int64_t terms_of_kernel(const Graph&, const Node& node) {
  const auto* kernel = node.attrs.integers("kernel_shape");
  return kernel ? bounded_elements(*kernel) : 1;
}

/// Of one channel or more: everything behind the second dimension.
std::int64_t terms_of_image(const Graph& graph, const Node& node) {
  const Shape* shape = operand_shape(graph, node, 0);
  return shape && shape->size() > 2 ? bounded_elements(Shape(shape->begin() + 2, shape->end())) : 1;
}

std::int64_t last_axis(const Graph& graph, const Node& node) {
  const Shape* shape = operand_shape(graph, node, 0);
  return shape ? dimension_from_end(*shape, 1) : 1;
}

using Count = std::int64_t (*)(const Graph&, const Node&);
template <Count terms>
std::int64_t each_result(const Graph& graph, const Node& node) {
  return bounded_product(result_elements(graph, node), terms(graph, node));
}

struct Sums {
  std::string_view ops;
  Count terms, multiply_adds;
};

constexpr Sums sums[] = {
    {"MatMul Gemm MatMulInteger FusedMatMul FusedGemm DynamicQuantizeMatMul MatMulNBits MatMulIntegerToFloat "
     "TransposeMatMul GemmFastGelu",
     terms_of_product, each_result<terms_of_product>},
    {"QLinearMatMul QGemm", terms_of_product, each_result<terms_of_product>},
    {"Conv ConvInteger FusedConv DeformConv", terms_of_filter<1>, each_result<terms_of_filter<1>>},
    {"QLinearConv", terms_of_filter<3>, each_result<terms_of_filter<3>>},
    {"ConvTranspose", terms_of_transposed, work_of_transposed},
    {"ReduceSum ReduceMean ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare ReduceProd",
     terms_of_reduction, operand_elements},
    {"ReduceMax ReduceMin ArgMax ArgMin GlobalMaxPool", nullptr, operand_elements},
    {"GlobalAveragePool GlobalLpPool", terms_of_reduction, operand_elements},
    {"InstanceNormalization GroupNormalization GroupNorm", terms_of_image, nullptr},
    {"Softmax LogSoftmax LayerNormalization RMSNormalization", terms_along_axis, nullptr},
    {"SimplifiedLayerNormalization SkipLayerNormalization SkipSimplifiedLayerNormalization", last_axis,
     nullptr},
    {"CumSum MeanVarianceNormalization LpNormalization Einsum DFT", operand_elements, nullptr},
    {"AveragePool LpPool", terms_of_kernel, each_result<terms_of_kernel>},
    {"MaxPool", nullptr, each_result<terms_of_kernel>},
    {"Attention MultiHeadAttention GroupQueryAttention", terms_of_attention, each_result<terms_of_attention>},
    {"LSTM GRU RNN", last_axis, each_result<last_axis>},
    {"Cast CastLike QuantizeLinear DequantizeLinear Shape Size", nullptr, no_work},
};

// --- ranges

constexpr double infinity = HUGE_VAL;
using Range = std::optional<ValueRange>;
using RangeRule = Range (*)(const Node& node, const RangeOf& operand);

Range at(const Node& node, const RangeOf& operand, std::size_t i) {
  return i < node.inputs.size() && node.inputs[i] != none_id ? operand(node.inputs[i]) : std::nullopt;
}

ValueRange join(ValueRange a, ValueRange b) {
  return {.low = std::min(a.low, b.low), .high = std::max(a.high, b.high)};
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

template <bool largest>
Range clamps(const Node& node, const RangeOf& operand) {
  ValueRange range = largest ? ValueRange{.high = -infinity} : ValueRange{.low = infinity};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueRange x = at(node, operand, i).value_or(ValueRange());
    range = {.low = i == 0    ? x.low
                    : largest ? std::max(range.low, x.low)
                              : std::min(range.low, x.low),
             .high = i == 0    ? x.high
                     : largest ? std::max(range.high, x.high)
                               : std::min(range.high, x.high)};
  }
  return range;
}

/// Bounds are attributes before opset 11, then operands.
Range clips(const Node& node, const RangeOf& operand) {
  ValueRange range = at(node, operand, 0).value_or(ValueRange());
  ValueRange bounds;
  if (node.version < 11) {
    bounds = {.low = node.attrs.number("min", -infinity), .high = node.attrs.number("max", infinity)};
  } else {
    if (const Range low = at(node, operand, 1)) bounds.low = low->low;
    if (const Range high = at(node, operand, 2)) bounds.high = high->high;
  }
  // Not one-sided for a bound that crosses the other: Clip takes the upper one then.
  return ValueRange{.low = std::min(std::max(range.low, bounds.low), bounds.high),
                    .high = std::min(std::max(range.high, bounds.low), bounds.high)};
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

Range not_negative(const Node&, const RangeOf&) { return ValueRange{.low = 0}; }
Range to_one(const Node&, const RangeOf&) { return ValueRange{.low = 0, .high = 1}; }
Range around_zero(const Node&, const RangeOf&) { return ValueRange{.low = -1, .high = 1}; }
Range not_positive(const Node&, const RangeOf&) { return ValueRange{.high = 0}; }

constexpr std::pair<std::string_view, RangeRule> ranges[] = {
    {"Relu Abs Exp Sqrt Softplus ReduceL1 ReduceL2 ReduceSumSquare Shape Size NonZero", not_negative},
    {"Sigmoid HardSigmoid Softmax Hardmax", to_one},
    {"LogSoftmax", not_positive},
    {"Tanh Sin Cos Sign Erf Softsign", around_zero},
    {"Reshape Transpose Slice Gather GatherElements GatherND Tile Expand Squeeze Unsqueeze Flatten Identity "
     "ReduceMax ReduceMin ReduceMean Split DepthToSpace SpaceToDepth ReverseSequence MaxPool GlobalMaxPool "
     "GlobalAveragePool",
     keeps<0>},
    {"AveragePool Trilu", joins_zero},
    {"QuantizeLinear DequantizeLinear", keeps_sign},
    {"Concat", joins<0>},
    {"Where", joins<1>},
    {"Max", clamps<true>},
    {"Min", clamps<false>},
    {"Clip", clips},
    {"Add", adds},
    {"Mul", multiplies},
    {"Neg", negates},
};

// --- indices

using Uses = std::vector<IndexUse>;

Uses of_axis(const Graph& graph, const Node& node) {
  const Shape* shape = operand_shape(graph, node, 0);
  const auto axis = shape ? normal_axis(node.attrs.integer("axis"), shape->size()) : std::nullopt;
  return {{.operand = 1, .size = axis ? std::max<std::int64_t>((*shape)[*axis], 0) : 0}};
}

/// Rows of the last dimension's length, one number an axis of the data.
Uses of_rows(const Graph& graph, const Node& node) {
  const Shape *data = operand_shape(graph, node, 0), *rows = operand_shape(graph, node, 1);
  if (!data || !rows) return {};
  const std::int64_t axes = rows->empty() ? 1 : std::max<std::int64_t>(1, rows->back()),
                     batch = std::max<std::int64_t>(node.attrs.integer("batch_dims"), 0);
  Uses uses;
  for (std::int64_t d = batch; d < static_cast<std::int64_t>(data->size()) && d < batch + axes; ++d)
    uses.push_back({.operand = 1, .size = std::max<std::int64_t>((*data)[static_cast<std::size_t>(d)], 0)});
  return uses;
}

constexpr std::pair<std::string_view, Uses (*)(const Graph&, const Node&)> indices[] = {
    {"Gather GatherElements Scatter ScatterElements", of_axis},
    {"GatherND ScatterND", of_rows},
};

void set_role(OpSpec& row, std::string_view attribute, AttributeRole role) {
  for (AttributeSpec& spec : row.attributes)
    if (spec.name == attribute) spec.role = role;
}

}  // namespace

void add_onnx_facts(OpSpec& row) {
  std::string_view op = row.name;
  if (op.starts_with("com.microsoft.")) op.remove_prefix(14);
  if (op.find('.') != std::string_view::npos) return;  // ai.onnx.ml: nothing is known beside the schema
  for (const Trait& trait : traits)
    if (lists(trait.ops, op))
      for (std::string_view rest = trait.words; !rest.empty();) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        add_trait(row, rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
  for (const Sums& each : sums)
    if (lists(each.ops, op)) row.terms = each.terms, row.multiply_adds = each.multiply_adds;
  for (const auto& [names, rule] : ranges)
    if (lists(names, op)) row.range = rule;
  for (const auto& [names, rule] : indices)
    if (lists(names, op)) row.indices = rule;
  row.gives_shape = op == "Shape";
  row.restores = op == "Identity";
  row.chooses = op == "If";
  if (op == "If")
    set_role(row, "then_branch", AttributeRole::branch), set_role(row, "else_branch", AttributeRole::branch);
  if (op == "Loop" || op == "Scan") set_role(row, "body", AttributeRole::body);
}

}  // namespace md
