// Inference of elementwise operators, reductions, normalizations, quantization and signal operators.
#include <algorithm>

#include "lib/format/onnx/infer_rules.h"
#include "lib/graph/encode.h"

namespace md::onnx {
namespace {

void same(Site& s) { s.give(0, s.shape(0)); }

/// Before opset 7 the second operand is stretched by attributes: the result is the first's shape.
void binary(Site& s) {
  if (s.node.version < 7 && s.node.custom.empty() && s.node.op != "PRelu" &&
      (s.attrs().find("broadcast") || s.attrs().find("axis")))
    return s.give(0, s.shape(0));
  if (auto shape = broadcast_all(s, 0, 2)) s.give(0, std::move(*shape));
}

void variadic(Site& s) {
  if (auto shape = broadcast_all(s, 0, s.operands.size())) s.give(0, std::move(*shape));
}

void where(Site& s) {
  if (auto shape = broadcast_all(s, 0, 3)) s.give(0, std::move(*shape));
}

/// QLinearAdd and QLinearMul: operands with scale and zero point behind each.
void quantized_binary(Site& s) {
  if (!s.ranked(0) || !s.ranked(3)) return;
  auto shape = broadcast_shape(s.shape(0), s.shape(3));
  if (!shape) return s.no("the operands do not broadcast");
  s.give(0, std::move(*shape));
}

void reduce(Site& s) {
  const Shape& x = s.shape(0);
  const bool keep = s.attrs().flag("keepdims", true);
  const bool operand = s.has(1);
  const auto axes = s.list("axes", 1);
  if (operand && !axes) {
    if (keep) s.give(0, Shape(x.size(), dynamic_dim));
    return;
  }
  std::vector<char> drop(x.size(), !axes || axes->empty());
  if ((!axes || axes->empty()) && s.attrs().flag("noop_with_empty_axes")) return s.give(0, x);
  if (axes)
    for (const std::int64_t a : *axes) {
      if (a == unknown_number) {
        if (keep) s.give(0, Shape(x.size(), dynamic_dim));
        return;
      }
      const auto axis = axis_in(a, x.size());
      if (!axis) return s.no("an axis is out of range");
      drop[*axis] = 1;
    }
  Shape shape;
  for (std::size_t d = 0; d < x.size(); ++d)
    if (!drop[d])
      shape.push_back(x[d]);
    else if (keep)
      shape.push_back(1);
  s.give(0, std::move(shape));
}

void arg(Site& s) {
  Shape shape = s.shape(0);
  const auto axis = axis_in(s.attrs().integer("axis"), shape.size());
  if (!axis) return s.no("the axis is out of range");
  if (s.attrs().flag("keepdims", true))
    shape[*axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  s.give(0, std::move(shape));
}

void cast(Site& s) {
  const AttrValue* to = s.attrs().find("to");
  s.out[0].dtype = DType::unknown;
  if (to) {
    if (const auto* text = std::get_if<std::string>(to)) {
      static constexpr std::pair<std::string_view, DType> names[] = {
          {"FLOAT", DType::f32},    {"DOUBLE", DType::f64}, {"FLOAT16", DType::f16}, {"INT8", DType::i8},
          {"INT16", DType::i16},    {"INT32", DType::i32},  {"INT64", DType::i64},   {"UINT8", DType::u8},
          {"UINT16", DType::u16},   {"UINT32", DType::u32}, {"UINT64", DType::u64},  {"BOOL", DType::boolean},
          {"STRING", DType::string}};
      for (const auto& [name, type] : names)
        if (name == *text) s.out[0].dtype = type;
    } else {
      s.out[0].dtype = dtype_of_onnx(s.attrs().integer("to")).value_or(DType::unknown);
    }
  }
  if (s.ranked(0)) s.give(0, s.shape(0));
}

void cast_like(Site& s) {
  s.out[0].dtype = s.dtype(1);
  if (s.ranked(0)) s.give(0, s.shape(0));
}

void bit_cast(Site& s) {
  s.out[0].dtype = dtype_of_onnx(s.attrs().integer("to")).value_or(DType::unknown);
  s.give(0, s.shape(0));
}

void dropout(Site& s) {
  s.give(0, s.shape(0));
  s.give(1, s.shape(0));
}

void batch_norm(Site& s) {
  s.give(0, s.shape(0));
  const Shape channel = s.ranked(1) ? s.shape(1) : Shape{dynamic_dim};
  for (std::size_t i = 1; i < s.out.size(); ++i) s.give(i, channel);
}

void layer_norm(Site& s) {
  s.give(0, s.shape(0));
  Shape shape = s.shape(0);
  const auto axis = axis_in(s.attrs().integer("axis", -1), shape.size());
  if (!axis) return s.no("the axis is out of range");
  for (std::size_t d = *axis; d < shape.size(); ++d) shape[d] = 1;
  // Mean and deviation are of the type that the sums are kept in.
  for (std::size_t i = 1; i < s.out.size(); ++i)
    s.out[i].dtype = dtype_of_onnx(s.attrs().integer("stash_type", 1)).value_or(DType::f32);
  for (std::size_t i = 1; i < s.out.size(); ++i) s.give(i, shape);
}

void skip_norm(Site& s) {
  s.give(0, s.shape(0));
  Shape shape = s.shape(0);
  if (!shape.empty()) shape.back() = 1;
  s.give(1, shape), s.give(2, shape);
  s.give(3, s.shape(0));
}

void quantize(Site& s) {
  if (s.has(2))
    s.out[0].dtype = s.dtype(2);
  else if (const std::int64_t type = s.attrs().integer("output_dtype"))
    s.out[0].dtype = dtype_of_onnx(type).value_or(DType::unknown);
  else
    s.out[0].dtype = DType::u8;
  s.give(0, s.shape(0));
}

void dequantize(Site& s) {
  if (const std::int64_t type = s.attrs().integer("output_dtype"))
    s.out[0].dtype = dtype_of_onnx(type).value_or(DType::unknown);
  else
    s.out[0].dtype = s.dtype(1) == DType::unknown ? DType::f32 : s.dtype(1);
  s.give(0, s.shape(0));
}

void dynamic_quantize(Site& s) {
  s.give(0, s.shape(0));
  s.give(1, {}), s.give(2, {});
}

void first_two_and_ones(Site& s) {
  Shape shape = s.shape(0);
  for (std::size_t d = 2; d < shape.size(); ++d) shape[d] = 1;
  s.give(0, std::move(shape));
}

void det(Site& s) {
  const Shape& x = s.shape(0);
  if (x.size() < 2) return s.no("expected a rank of 2 or more");
  s.give(0, Shape(x.begin(), x.end() - 2));
}

void window(Site& s) {
  s.out[0].dtype = dtype_of_onnx(s.attrs().integer("output_datatype", 1)).value_or(DType::f32);
  const auto size = s.all_numbers(0);
  s.give(0, {size && size->size() == 1 ? size->front() : dynamic_dim});
}

void mel(Site& s) {
  s.out[0].dtype = dtype_of_onnx(s.attrs().integer("output_datatype", 1)).value_or(DType::f32);
  const auto bins = s.all_numbers(0), length = s.all_numbers(1);
  s.give(0, {length && length->size() == 1 ? length->front() / 2 + 1 : dynamic_dim,
             bins && bins->size() == 1 ? bins->front() : dynamic_dim});
}

void dft(Site& s) {
  Shape shape = s.shape(0);
  const auto length = s.has(1) ? s.all_numbers(1) : std::nullopt;
  std::optional<std::int64_t> number;
  if (s.node.version < 20) {
    number = s.attrs().integer("axis", 1);
  } else if (s.has(2)) {
    const auto given = s.all_numbers(2);
    if (given && given->size() == 1) number = given->front();
  } else {
    number = -2;
  }
  const bool inverse = s.attrs().flag("inverse"), one_sided = s.attrs().flag("onesided");
  const auto axis = number ? axis_in(*number, shape.size()) : std::nullopt;
  if (!number) {
    Shape unknown(shape.size(), dynamic_dim);
    if (!one_sided && !s.has(1)) unknown = shape;
    if (!unknown.empty()) unknown.back() = inverse && one_sided ? 1 : 2;
    return s.give(0, std::move(unknown));
  }
  if (!axis || shape.size() < 2) return s.no("the axis is out of range");
  if (inverse && one_sided && shape[*axis] >= 0) shape[*axis] = 2 * (shape[*axis] - 1);
  if (s.has(1)) shape[*axis] = length && length->size() == 1 ? length->front() : dynamic_dim;
  if (one_sided && !inverse && shape[*axis] >= 0) shape[*axis] = shape[*axis] / 2 + 1;
  shape.back() = inverse && one_sided ? 1 : 2;
  s.give(0, std::move(shape));
}

void stft(Site& s) {
  const Shape& x = s.shape(0);
  const auto step = s.all_numbers(1), length = s.has(3) ? s.all_numbers(3) : std::nullopt;
  std::int64_t n = length && length->size() == 1 ? length->front() : dynamic_dim;
  if (n < 0 && s.ranked(2) && s.shape(2).size() == 1) n = s.shape(2)[0];
  std::int64_t frames = dynamic_dim;
  if (step && step->size() == 1 && step->front() > 0 && n > 0 && x.size() >= 2 && x[1] >= n)
    frames = (x[1] - n) / step->front() + 1;
  const bool one_sided = s.attrs().flag("onesided", true);
  s.give(0, {x.empty() ? dynamic_dim : x[0], frames, n < 0 ? dynamic_dim : one_sided ? n / 2 + 1 : n, 2});
}

void loss(Site& s) {
  if (s.attrs().text("reduction", "mean") != "none")
    s.give(0, {});
  else if (s.ranked(1))
    s.give(0, s.shape(1));
  if (s.ranked(0)) s.give(1, s.shape(0));
}

void half_last(Site& s) {
  Shape shape = s.shape(0);
  if (shape.empty()) return;
  if (shape.back() >= 0) shape.back() /= 2;
  s.give(0, std::move(shape));
}

void grid_of(Site& s) {
  const auto size = s.numbers(1);
  if (!size && s.ranked(1) && s.shape(1).size() == 1 && (s.shape(1)[0] == 4 || s.shape(1)[0] == 5)) {
    Shape unknown(static_cast<std::size_t>(s.shape(1)[0]), dynamic_dim);
    unknown.back() = s.shape(1)[0] - 2;
    return s.give(0, std::move(unknown));
  }
  if (!size || (size->size() != 4 && size->size() != 5)) return;
  Shape shape;
  for (std::size_t d = 0; d < size->size(); ++d)
    if (d != 1) shape.push_back((*size)[d] == unknown_number ? dynamic_dim : (*size)[d]);
  shape.push_back(static_cast<std::int64_t>(size->size()) - 2);
  s.give(0, std::move(shape));
}

constexpr Rule rules[] = {
    {"Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Clip Cos Cosh CumProd CumSum Elu Erf Exp "
     "Floor "
     "Gelu HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LRN LeakyRelu Log "
     "LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg Not PRelu RMSNormalization Reciprocal "
     "Relu "
     "ReverseSequence RotaryEmbedding Round Scatter ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin "
     "Sinh "
     "Softmax Softplus Softsign Sqrt Swish Tan Tanh TensorScatter ThresholdedRelu Trilu RegexFullMatch "
     "SwiGLU "
     "GroupNormalization SimplifiedLayerNormalization QuickGelu FastGelu BiasGelu BiasAdd BiasSoftmax "
     "QLinearLeakyRelu QLinearSigmoid QLinearSoftmax GroupNorm",
     same},
    {"Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Mod "
     "Mul Or Pow Sub Xor StringConcat",
     binary, 2},
    {"Max Mean Min Sum", variadic, 0},
    {"Where", where, 0},
    {"QLinearAdd QLinearMul", quantized_binary, 0},
    {"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
     "ReduceSumSquare",
     reduce},
    {"ArgMax ArgMin", arg},
    {"Cast", cast, 0},
    {"CastLike", cast_like, 0},
    {"BitCast", bit_cast},
    {"Dropout", dropout},
    {"BatchNormalization", batch_norm},
    {"LayerNormalization", layer_norm},
    {"SkipLayerNormalization SkipSimplifiedLayerNormalization", skip_norm},
    {"QuantizeLinear", quantize},
    {"DequantizeLinear", dequantize},
    {"DynamicQuantizeLinear", dynamic_quantize},
    {"GlobalAveragePool GlobalLpPool GlobalMaxPool", first_two_and_ones},
    {"Det", det},
    {"HannWindow HammingWindow BlackmanWindow", window, 0},
    {"MelWeightMatrix", mel, 0},
    {"DFT", dft},
    {"STFT", stft},
    {"NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", loss, 0},
    {"BiasSplitGelu", half_last},
    {"AffineGrid", grid_of, 0},
};

}  // namespace

std::span<const Rule> arithmetic_rules() { return rules; }

}  // namespace md::onnx
