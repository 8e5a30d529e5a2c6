// Operators that compute, with operands within what their documentation allows; and the list of all.
#include <algorithm>

#include "lib/eval/kernel.h"
#include "lib/op/dialect.h"
#include "lib/op/ops.h"
#include "test/generated_models.h"

namespace md::test {
namespace {

using M = ModelMaker;
using Ids = std::vector<ValueId>;
using Numbers = std::vector<std::int64_t>;

bool made(const Ids& ids) { return !ids.empty(); }
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void activation(M& m, const std::string& op, Attributes& attrs) {
  if (m.chance(30)) m.set_enum(attrs, op, "fused_activation_function", m.below(4));
}

std::int64_t some_axis(M& m, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = m.below(rank);
  return m.chance(50) ? axis : axis - rank;
}

bool unary(M& m, const std::string& op) {
  const bool logical = op.starts_with("LOGICAL");
  Attributes attrs;
  if (op == "LEAKY_RELU") attrs.set("alpha", 0.25);
  return made(m.emit(op,
                     {m.operand(logical        ? DType::boolean
                                : m.chance(80) ? DType::f32
                                               : DType::i8,
                                0, 5)},
                     attrs));
}

bool binary(M& m, const std::string& op) {
  DType dtype = m.type();
  if (op.starts_with("LOGICAL"))
    dtype = DType::boolean;
  else if (op == "BITWISE_XOR" || op == "RIGHT_SHIFT")
    dtype = DType::i32;
  else if (dtype == DType::boolean && op != "EQUAL" && op != "NOT_EQUAL")
    dtype = DType::f32;
  const ValueId a = m.operand(dtype, 0, 5);
  const ValueId b = m.chance(15) ? a : m.partner(dtype, m.shape_of(a));
  Attributes attrs;
  if (const OpSpec* spec = find_op(dialect("tflite"), op); spec->find("fused_activation_function"))
    activation(m, op, attrs);
  return made(m.emit(op, m.chance(80) ? Ids{a, b} : Ids{b, a}, attrs));
}

bool add_n(M& m, const std::string& op) {
  const ValueId a = m.operand(DType::f32, 0, 5);
  Ids ids{a};
  for (std::int64_t i = m.below(3); i >= 0; --i)
    ids.push_back(m.chance(30) ? a : m.operand(DType::f32, m.shape_of(a)));
  return made(m.emit_as(op, ids, {}, {{DType::f32, m.shape_of(a), {}}}));
}

bool arg_reduce(M& m, const std::string& op) {
  const ValueId x = m.operand(m.chance(80) ? DType::f32 : DType::i8, 1, 5);
  Shape shape = m.shape_of(x);
  const std::int64_t axis = m.below(static_cast<std::int64_t>(shape.size()));
  shape.erase(shape.begin() + axis);
  const DType result = m.chance(50) ? DType::i32 : DType::i64;
  return made(m.emit_as(op, {x, m.number(DType::i32, static_cast<double>(axis))}, {}, {{result, shape, {}}}));
}

bool pool(M& m, const std::string& op) {
  Attributes attrs;
  m.set_enum(attrs, op, "padding", m.below(2));
  for (const char* name : {"stride_w", "stride_h", "filter_width", "filter_height"})
    attrs.set(name, 1 + m.below(3));
  activation(m, op, attrs);
  return made(
      m.emit(op, {m.operand(m.chance(80) || op == "L2_POOL_2D" ? DType::f32 : DType::i8, 4, 4)}, attrs));
}

bool matmul(M& m, const std::string& op) {
  const ValueId a = m.operand(DType::f32, 2, 5);
  Shape shape = m.shape_of(a);
  Attributes attrs;
  const bool adj_x = m.chance(25), adj_y = m.chance(40);
  attrs.set("adj_x", adj_x), attrs.set("adj_y", adj_y);
  const std::int64_t k = shape[shape.size() - (adj_x ? 2 : 1)], n = m.size();
  if (m.chance(25) && (shape.back() == shape[shape.size() - 2] || adj_x != !adj_y))
    if (auto same = m.emit(op, {a, a}, attrs); made(same)) return true;
  if (m.chance(30))
    shape.erase(shape.begin(), shape.end() - 2);
  else if (m.chance(30))
    std::fill(shape.begin(), shape.end() - 2, 1);
  shape[shape.size() - 2] = adj_y ? n : k, shape.back() = adj_y ? k : n;
  return made(
      m.emit(op, {a, m.chance(50) ? m.weights(DType::f32, shape) : m.operand(DType::f32, shape)}, attrs));
}

bool cast(M& m, const std::string& op) {
  const ValueId x = m.operand(m.type(), 0, 5);
  static constexpr DType to[] = {DType::f32, DType::i32, DType::i64, DType::boolean, DType::f16};
  return made(m.emit_as(op, {x}, {}, {{to[at(m.below(5))], m.shape_of(x), {}}}));
}

void windows(M& m, const std::string& op, Attributes& attrs, std::initializer_list<const char*> strides,
             std::initializer_list<const char*> dilations) {
  m.set_enum(attrs, op, "padding", m.below(2));
  const bool strided = m.chance(40), dilated = !strided && m.chance(25);
  for (const char* name : strides) attrs.set(name, strided ? 1 + m.below(3) : std::int64_t{1});
  for (const char* name : dilations) attrs.set(name, dilated ? 1 + m.below(3) : std::int64_t{1});
  activation(m, op, attrs);
}

bool convolution(M& m, const std::string& op) {
  const bool depthwise = op == "DEPTHWISE_CONV_2D", solid = op == "CONV_3D";
  const DType dtype = solid || m.chance(85) ? DType::f32 : DType::i8;
  const ValueId x = solid ? m.operand(dtype, 5, 5) : m.operand(dtype, 4, 4);
  const std::int64_t channels = m.shape_of(x).back();
  const std::int64_t groups = !depthwise && !solid && channels % 2 == 0 && m.chance(20) ? 2 : 1;
  std::int64_t out = m.size(9);
  if (groups > 1) out *= 2;
  Attributes attrs;
  Shape filter;
  if (solid) {
    windows(m, op, attrs, {"stride_d", "stride_h", "stride_w"}, {});
    filter = {m.size(3), m.size(3), m.size(3), channels, out};
  } else {
    windows(m, op, attrs, {"stride_h", "stride_w"}, {"dilation_h_factor", "dilation_w_factor"});
    const std::int64_t multiplier = 1 + m.below(2);
    if (depthwise) attrs.set("depth_multiplier", multiplier), out = channels * multiplier;
    filter =
        depthwise ? Shape{1, m.size(5), m.size(5), out} : Shape{out, m.size(5), m.size(5), channels / groups};
  }
  const ValueId w = m.weights(dtype, filter);
  const ValueId bias =
      m.chance(60) ? m.random_constant(dtype == DType::i8 ? DType::i32 : dtype, {out}) : none_id;
  if (!solid) return made(m.emit(op, {x, w, bias}, attrs));
  const bool same = attrs.text("padding") == "SAME";
  Shape shape = m.shape_of(x);
  shape.back() = out;
  static constexpr const char* strides[] = {"stride_d", "stride_h", "stride_w"};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t stride = attrs.integer(strides[d], 1),
                       room = shape[d + 1] - (same ? 0 : filter[d] - 1);
    if (room < 1) return false;
    shape[d + 1] = (room + stride - 1) / stride;
  }
  Ids ids{x, w};
  if (bias != none_id) ids.push_back(bias);
  return made(m.emit_as(op, ids, attrs, {{DType::f32, shape, {}}}));
}

bool transpose_conv(M& m, const std::string& op) {
  const ValueId x = m.operand(DType::f32, 4, 4);
  const Shape in = m.shape_of(x);
  Attributes attrs;
  const bool same = m.chance(50);
  m.set_enum(attrs, op, "padding", same ? 0 : 1);
  const std::int64_t sh = 1 + m.below(2), sw = 1 + m.below(2), kh = m.size(4), kw = m.size(4),
                     out = m.size(5);
  attrs.set("stride_h", sh), attrs.set("stride_w", sw);
  const Shape shape = {in[0], same ? in[1] * sh : (in[1] - 1) * sh + kh,
                       same ? in[2] * sw : (in[2] - 1) * sw + kw, out};
  if (element_count(shape).value_or(1 << 20) > 8192) return false;
  Ids ids{m.integers(shape), m.weights(DType::f32, {out, kh, kw, in[3]}), x};
  if (m.chance(40)) ids.push_back(m.random_constant(DType::f32, {out}));
  return made(m.emit_as(op, ids, attrs, {{DType::f32, shape, {}}}));
}

bool fully_connected(M& m, const std::string& op) {
  const DType dtype = m.chance(85) ? DType::f32 : DType::i8;
  const ValueId x = m.operand(dtype, 1, 4);
  const std::int64_t n = m.size();
  Attributes attrs;
  if (m.chance(50)) attrs.set("keep_num_dims", true);
  activation(m, op, attrs);
  const ValueId w = m.chance(85) ? m.weights(dtype, {n, m.shape_of(x).back()})
                                 : m.operand(dtype, Shape{n, m.shape_of(x).back()});
  const ValueId bias =
      m.chance(60) ? m.random_constant(dtype == DType::i8 ? DType::i32 : dtype, {n}) : none_id;
  return made(m.emit(op, {x, w, bias}, attrs));
}

bool cumsum(M& m, const std::string& op) {
  const ValueId x = m.operand(m.chance(80) ? DType::f32 : DType::i32, 1, 5);
  Attributes attrs;
  attrs.set("exclusive", m.chance(50)), attrs.set("reverse", m.chance(50));
  const ValueId axis = m.number(DType::i32, static_cast<double>(some_axis(m, m.shape_of(x))));
  return made(m.emit_as(op, {x, axis}, attrs, {{m.value(x).dtype, m.shape_of(x), {}}}));
}

bool quantization(M& m, const std::string& op) {
  const bool to = op == "QUANTIZE";
  const ValueId x = m.operand(to && m.chance(80) ? DType::f32 : DType::i8, 0, 5);
  if (to) {
    Quantization q;
    q.scale = {0.05f}, q.zero_point = {3};
    return made(m.emit_as(op, {x}, {}, {{DType::i8, m.shape_of(x), q}}));
  }
  return made(m.emit_as(op, {x}, {}, {{DType::f32, m.shape_of(x), {}}}));
}

bool fake_quant(M& m, const std::string& op) {
  const ValueId x = m.operand(DType::f32, 0, 4);
  Attributes attrs;
  attrs.set("min", -1.0), attrs.set("max", 1.5), attrs.set("num_bits", std::int64_t{8});
  return made(m.emit_as(op, {x}, attrs, {{DType::f32, m.shape_of(x), {}}}));
}

bool same_type(M& m, const std::string& op) {
  const ValueId x = m.operand(DType::f32, op == "LOCAL_RESPONSE_NORMALIZATION" ? 4 : 1, 4);
  Attributes attrs;
  if (op == "SOFTMAX") attrs.set("beta", m.chance(80) ? 1.0 : 0.5);
  if (op == "LOCAL_RESPONSE_NORMALIZATION")
    attrs.set("radius", std::int64_t{2}), attrs.set("bias", 1.0), attrs.set("alpha", 0.1),
        attrs.set("beta", 0.5);
  return made(m.emit_as(op, {x}, attrs, {{DType::f32, m.shape_of(x), {}}}));
}

bool reduce(M& m, const std::string& op) {
  const bool logical = op == "REDUCE_ALL" || op == "REDUCE_ANY";
  const ValueId x = m.operand(logical ? DType::boolean : m.chance(80) ? DType::f32 : DType::i32, 1, 5);
  Numbers axes;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(m.shape_of(x).size()); ++d)
    if (m.chance(50)) axes.push_back(m.chance(30) ? d - static_cast<std::int64_t>(m.shape_of(x).size()) : d);
  if (axes.empty()) axes.push_back(-1);
  Attributes attrs;
  attrs.set("keep_dims", m.chance(50));
  const ValueId list = axes.size() == 1 && m.chance(30) ? m.number(DType::i32, static_cast<double>(axes[0]))
                                                        : m.integers(axes);
  return made(m.emit(op, {x, list}, attrs));
}

bool prelu(M& m, const std::string& op) {
  const ValueId x = m.operand(DType::f32, 1, 4);
  Shape shape = m.shape_of(x);
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) shape[d] = 1;
  if (m.chance(50)) shape.erase(shape.begin());
  return made(m.emit_as(op, {x, m.weights(DType::f32, shape)}, {}, {{DType::f32, m.shape_of(x), {}}}));
}

bool segment_sum(M& m, const std::string& op) {
  const ValueId x = m.operand(DType::f32, 1, 3);
  Shape shape = m.shape_of(x);
  Numbers ids;
  for (std::int64_t i = 0; i < shape[0]; ++i) ids.push_back(ids.empty() ? 0 : ids.back() + m.below(2));
  shape[0] = ids.back() + 1;
  return made(m.emit_as(op, {x, m.integers(ids)}, {}, {{DType::f32, shape, {}}}));
}

bool bucketize(M& m, const std::string& op) {
  const ValueId x = m.operand(DType::f32, 0, 4);
  Attributes attrs;
  attrs.set("boundaries", std::vector<double>{-1.0, 0.0, 2.5});
  return made(m.emit_as(op, {x}, attrs, {{DType::i32, m.shape_of(x), {}}}));
}

bool stablehlo(M& m, const std::string& op) {
  const ValueId a = m.operand(DType::f32, 1, 4);
  const OpSpec* spec = find_op(dialect("tflite"), op);
  Ids ids{a};
  if (spec->required == 2) ids.push_back(m.chance(20) ? a : m.operand(DType::f32, m.shape_of(a)));
  return made(m.emit_as(op, ids, {}, {{DType::f32, m.shape_of(a), {}}}));
}

constexpr MadeOperator makers[] = {{"ADD_N", add_n},
                                   {"ARG_MAX", arg_reduce},
                                   {"ARG_MIN", arg_reduce},
                                   {"AVERAGE_POOL_2D", pool},
                                   {"MAX_POOL_2D", pool},
                                   {"L2_POOL_2D", pool},
                                   {"BATCH_MATMUL", matmul},
                                   {"CAST", cast},
                                   {"CONV_2D", convolution},
                                   {"DEPTHWISE_CONV_2D", convolution},
                                   {"CONV_3D", convolution},
                                   {"TRANSPOSE_CONV", transpose_conv},
                                   {"FULLY_CONNECTED", fully_connected},
                                   {"CUMSUM", cumsum},
                                   {"QUANTIZE", quantization},
                                   {"DEQUANTIZE", quantization},
                                   {"FAKE_QUANT", fake_quant},
                                   {"SOFTMAX", same_type},
                                   {"LOG_SOFTMAX", same_type},
                                   {"L2_NORMALIZATION", same_type},
                                   {"LOCAL_RESPONSE_NORMALIZATION", same_type},
                                   {"MEAN", reduce},
                                   {"SUM", reduce},
                                   {"REDUCE_MAX", reduce},
                                   {"REDUCE_MIN", reduce},
                                   {"REDUCE_PROD", reduce},
                                   {"REDUCE_ALL", reduce},
                                   {"REDUCE_ANY", reduce},
                                   {"PRELU", prelu},
                                   {"SEGMENT_SUM", segment_sum},
                                   {"BUCKETIZE", bucketize},
                                   {"STABLEHLO_ADD", stablehlo},
                                   {"STABLEHLO_MULTIPLY", stablehlo},
                                   {"STABLEHLO_MAXIMUM", stablehlo},
                                   {"STABLEHLO_ABS", stablehlo},
                                   {"STABLEHLO_NEGATE", stablehlo},
                                   {"STABLEHLO_LOGISTIC", stablehlo}};

std::vector<MadeOperator> list_operators() {
  std::vector<MadeOperator> list;
  for (const OpSpec& spec : dialect("tflite").operators().ops) {
    if (!find_kernel(dialect("tflite"), spec.name)) continue;
    OperatorMaker make = spec.unary ? unary : spec.binary || spec.compare ? binary : nullptr;
    for (const auto& known : {std::span<const MadeOperator>(makers), moving_operators()})
      for (const MadeOperator& row : known)
        if (row.op == spec.name) make = row.make;
    if (make) list.push_back({spec.name, make});
  }
  return list;
}

}  // namespace

const std::vector<MadeOperator>& made_operators() {
  static const std::vector<MadeOperator> list = list_operators();
  return list;
}

}  // namespace md::test
