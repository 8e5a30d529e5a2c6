// Normalizations, reductions and attention written out.
#include <cmath>
#include <limits>
#include <numeric>

#include "lib/rewrite/onnx/expand.h"

namespace md::onnx {
namespace {

using Numbers = OnnxBuilder::Numbers;

Numbers axes_from(std::int64_t axis, int rank) {
  if (axis < 0) axis += rank;
  Numbers axes(static_cast<std::size_t>(std::max<std::int64_t>(0, rank - axis)));
  std::iota(axes.begin(), axes.end(), axis);
  return axes;
}

/// A computation in float32 (stash_type) on narrower numbers, and its result back in their type.
struct Widened {
  OnnxBuilder& b;
  DType own;
  bool wide;
  Widened(OnnxBuilder& builder, ValueId x)
      : b(builder), own(builder.dtype(x)), wide(own == DType::f16 || own == DType::bf16) {}
  ValueId in(ValueId v) const { return wide ? b.cast(v, DType::f32) : v; }
  ValueId out(ValueId v) const { return wide ? b.cast(v, own) : v; }
};

ValueId inverse_root(OnnxBuilder& b, ValueId mean_square, double epsilon) {
  const ValueId shifted = b.binary("Add", mean_square, b.number(b.dtype(mean_square), epsilon));
  return b.unary("Reciprocal", b.unary("Sqrt", shifted));
}

/// (x - mean) / sqrt(mean of squares + epsilon), scaled and shifted; without `centred` the mean is taken as
/// 0.
void normalize(OnnxBuilder& b, ValueId source, const Numbers& axes, double epsilon, bool centred,
               ValueId scale, ValueId bias, ValueId into) {
  const Widened widened(b, source);
  const ValueId x = widened.in(source);
  const ValueId middle = centred ? b.binary("Sub", x, b.reduce("ReduceMean", x, axes, true)) : x;
  const ValueId square = b.reduce("ReduceMean", b.binary("Mul", middle, middle), axes, true);
  ValueId y = b.binary("Mul", middle, inverse_root(b, square, epsilon),
                       scale < 0 && bias < 0 && !widened.wide ? into : none_id);
  if (y == into) return;
  y = widened.out(y);
  if (scale >= 0 || is_new_value(scale)) y = b.binary("Mul", y, scale, bias == none_id ? into : none_id);
  if (bias != none_id) y = b.binary("Add", y, bias, into);
  if (y != into) b.identity(y, into);
}

bool one_result(const Graph& graph, const Node& node, std::string& reason) {
  for (std::size_t r = 1; r < node.outputs.size(); ++r)
    if (node.outputs[r] >= 0 && (!graph.uses(node.outputs[r]).empty() || graph.is_output(node.outputs[r]))) {
      reason = "its further results are read";
      return false;
    }
  return true;
}

bool layer_norm_kind(OnnxBuilder& b, const Graph& graph, const Node& node, bool centred,
                     std::string& reason) {
  if (!one_result(graph, node, reason) || graph.value(node.inputs[0]).unranked) return false;
  const int rank = graph.value(node.inputs[0]).rank();
  normalize(b, node.inputs[0], axes_from(node.attrs.integer("axis", -1), rank),
            node.attrs.number("epsilon", 1e-5), centred, operand(node, 1),
            centred ? operand(node, 2) : none_id, node.outputs[0]);
  return true;
}
bool layer_norm(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  return layer_norm_kind(b, graph, node, true, reason);
}
bool rms_norm(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  return layer_norm_kind(b, graph, node, false, reason);
}

/// x + skip (+ bias), normalized; the sum may be its fourth result.
bool skip_norm(OnnxBuilder& b, const Graph& graph, const Node& node, bool centred, std::string& reason) {
  for (std::size_t r : {std::size_t{1}, std::size_t{2}})
    if (r < node.outputs.size() && node.outputs[r] >= 0 && !graph.uses(node.outputs[r]).empty()) {
      reason = "its mean or variance is read";
      return false;
    }
  const ValueId kept = node.outputs.size() > 3 ? node.outputs[3] : none_id;
  const ValueId bias = operand(node, centred ? 4 : 3);
  ValueId sum = b.binary("Add", node.inputs[0], node.inputs[1], bias < 0 ? kept : none_id);
  if (bias >= 0) sum = b.binary("Add", sum, bias, kept);
  normalize(b, sum, {graph.value(node.inputs[0]).rank() - 1}, node.attrs.number("epsilon", 1e-12), centred,
            operand(node, 2), centred ? operand(node, 3) : none_id, node.outputs[0]);
  return true;
}
bool skip_layer_norm(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  return skip_norm(b, graph, node, true, reason);
}
bool skip_rms_norm(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  return skip_norm(b, graph, node, false, reason);
}

bool group_norm(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  const Value& x = graph.value(node.inputs[0]);
  const std::int64_t groups = node.attrs.integer("num_groups", 0);
  if (x.unranked || x.rank() < 3 || groups < 1 || x.shape[1] < 1 || x.shape[1] % groups != 0 ||
      node.inputs.size() < 3) {
    reason = "the number of channels is not known";
    return false;
  }
  const std::int64_t channels = x.shape[1];
  int unknown = 0;
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    if (i != 1 && x.shape[i] < 0) ++unknown;
  if (unknown > 1) {
    reason = "several dimensions are not known";
    return false;
  }
  const Widened widened(b, node.inputs[0]);
  ValueId rows = b.reshape(widened.in(node.inputs[0]), {x.shape[0] < 0 ? 0 : x.shape[0], groups, -1});
  const ValueId middle = b.binary("Sub", rows, b.reduce("ReduceMean", rows, {2}, true));
  const ValueId square = b.reduce("ReduceMean", b.binary("Mul", middle, middle), {2}, true);
  rows = b.binary("Mul", middle, inverse_root(b, square, node.attrs.number("epsilon", 1e-5)));
  Shape whole = x.shape;
  if (whole[0] < 0) whole[0] = 0;
  ValueId y = widened.out(b.reshape(rows, whole));
  Shape per_channel(x.shape.size() - 1, 1);
  per_channel[0] = channels;
  const auto spread = [&](ValueId v) {
    const Value& parameter = graph.value(v);
    if (parameter.shape == Shape{groups} && groups != channels) {  // before opset 21: one a group
      const ValueId column = b.reshape(v, {groups, 1});
      return b.reshape(b.expand(column, {groups, channels / groups}), per_channel);
    }
    return b.reshape(v, per_channel);
  };
  y = b.binary("Mul", y, spread(node.inputs[1]));
  b.binary("Add", y, spread(node.inputs[2]), node.outputs[0]);
  return true;
}

bool reduce_parts(const Graph& graph, const Node& node, Numbers& axes, bool& keep) {
  keep = node.attrs.integer("keepdims", 1) != 0;
  const auto given = integers_of(graph, node, "axes", 1);
  if (!given && operand(node, 1) >= 0) return false;
  if (given) axes = *given;
  return !(axes.empty() && node.attrs.integer("noop_with_empty_axes", 0) != 0);
}
bool reduce_l1(OnnxBuilder& b, const Graph& graph, const Node& node, std::string&) {
  Numbers axes;
  bool keep = true;
  if (!reduce_parts(graph, node, axes, keep)) return false;
  b.reduce("ReduceSum", b.unary("Abs", node.inputs[0]), axes, keep, node.outputs[0]);
  return true;
}
bool reduce_sum_square(OnnxBuilder& b, const Graph& graph, const Node& node, std::string&) {
  Numbers axes;
  bool keep = true;
  if (!reduce_parts(graph, node, axes, keep)) return false;
  b.reduce("ReduceSum", b.binary("Mul", node.inputs[0], node.inputs[0]), axes, keep, node.outputs[0]);
  return true;
}
bool reduce_l2(OnnxBuilder& b, const Graph& graph, const Node& node, std::string&) {
  Numbers axes;
  bool keep = true;
  if (!reduce_parts(graph, node, axes, keep)) return false;
  const ValueId sum = b.reduce("ReduceSum", b.binary("Mul", node.inputs[0], node.inputs[0]), axes, keep);
  b.unary("Sqrt", sum, node.outputs[0]);
  return true;
}
bool reduce_log_sum(OnnxBuilder& b, const Graph& graph, const Node& node, std::string&) {
  Numbers axes;
  bool keep = true;
  if (!reduce_parts(graph, node, axes, keep)) return false;
  b.unary("Log", b.reduce("ReduceSum", node.inputs[0], axes, keep), node.outputs[0]);
  return true;
}
bool reduce_log_sum_exp(OnnxBuilder& b, const Graph& graph, const Node& node, std::string&) {
  Numbers axes;
  bool keep = true;
  if (!reduce_parts(graph, node, axes, keep)) return false;
  const ValueId x = node.inputs[0];
  const ValueId sum = b.reduce(
      "ReduceSum", b.unary("Exp", b.binary("Sub", x, b.reduce("ReduceMax", x, axes, true))), axes, keep);
  b.binary("Add", b.unary("Log", sum), b.reduce("ReduceMax", x, axes, keep), node.outputs[0]);
  return true;
}

/// A lower triangle of what may be attended to, added as 0 and -inf.
ValueId causal(OnnxBuilder& b, DType dtype, std::int64_t rows, std::int64_t columns) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      numbers.push_back(j <= i ? 0 : -std::numeric_limits<double>::infinity());
  return b.constant("causal", dtype, {rows, columns}, numbers);
}

/// [batch, length, heads * size] as [batch, heads, length, size].
ValueId in_heads(OnnxBuilder& b, ValueId x, std::int64_t heads) {
  const Shape shape = b.shape(x);
  if (shape.size() != 3) return x;
  return b.transpose(b.reshape(x, {0, 0, heads, shape[2] / heads}), {0, 2, 1, 3});
}

/// Keys and values that several query heads share, repeated.
ValueId repeat_heads(OnnxBuilder& b, ValueId x, std::int64_t times) {
  if (times == 1) return x;
  const Shape s = b.shape(x);
  const ValueId wide = b.expand(b.unsqueeze(x, {2}), {s[0], s[1], times, s[2], s[3]});
  return b.reshape(wide, {s[0], s[1] * times, s[2], s[3]});
}

bool attention(OnnxBuilder& b, const Graph& graph, const Node& node, std::string& reason) {
  const bool cached = operand(node, 4) >= 0 || operand(node, 5) >= 0 || operand(node, 6) >= 0;
  if (node.inputs.size() < 3 || cached || node.attrs.number("softcap", 0) != 0 ||
      !one_result(graph, node, reason)) {
    if (reason.empty()) reason = "caches and softcap have no formula here";
    return false;
  }
  const int rank = graph.value(node.inputs[0]).rank();
  const std::int64_t query_heads =
      rank == 3 ? node.attrs.integer("q_num_heads") : graph.value(node.inputs[0]).shape[1];
  const std::int64_t key_heads =
      rank == 3 ? node.attrs.integer("kv_num_heads") : graph.value(node.inputs[1]).shape[1];
  for (const std::size_t i : {0, 1, 2})
    for (std::size_t axis = i == 0 ? 1 : 1; axis < graph.value(node.inputs[i]).shape.size(); ++axis)
      if (graph.value(node.inputs[i]).shape[axis] < 1 || (rank != 3 && rank != 4)) {
        reason = "its sizes are not known";
        return false;
      }
  if (query_heads < 1 || key_heads < 1 || query_heads % key_heads != 0) return false;
  const ValueId q = in_heads(b, node.inputs[0], query_heads);
  ValueId k = in_heads(b, node.inputs[1], key_heads), v = in_heads(b, node.inputs[2], key_heads);
  if (query_heads != key_heads && b.shape(k)[0] < 0) {
    reason = "shared heads with a dynamic batch have no formula here";
    return false;
  }
  k = repeat_heads(b, k, query_heads / key_heads);
  v = repeat_heads(b, v, query_heads / key_heads);
  const Shape qs = b.shape(q), ks = b.shape(k);
  const double scale = node.attrs.number("scale", 1 / std::sqrt(static_cast<double>(qs[3])));
  const ValueId root = b.number(b.dtype(q), std::sqrt(scale));
  ValueId scores = b.matmul(b.binary("Mul", q, root), b.transpose(b.binary("Mul", k, root), {0, 1, 3, 2}));
  if (node.attrs.integer("is_causal", 0) != 0)
    scores = b.binary("Add", scores, causal(b, b.dtype(q), qs[2], ks[2]));
  if (const ValueId mask = operand(node, 3); mask >= 0) {
    if (graph.value(mask).dtype == DType::boolean)
      scores = b.where(mask, scores, b.number(b.dtype(q), -std::numeric_limits<double>::infinity()));
    else
      scores = b.binary("Add", scores, mask);
  }
  const ValueId weights = b.softmax(scores, -1);
  if (rank == 4) {
    b.matmul(weights, v, node.outputs[0]);
    return true;
  }
  const ValueId joined = b.transpose(b.matmul(weights, v), {0, 2, 1, 3});
  b.reshape(joined, {0, 0, query_heads * b.shape(v)[3]}, node.outputs[0]);
  return true;
}

constexpr NamedFormula table[] = {
    {"LayerNormalization", layer_norm},
    {"RMSNormalization", rms_norm},
    {"SimplifiedLayerNormalization", rms_norm},
    {"SkipLayerNormalization", skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", skip_rms_norm},
    {"GroupNormalization", group_norm},
    {"ReduceL1", reduce_l1},
    {"ReduceL2", reduce_l2},
    {"ReduceSumSquare", reduce_sum_square},
    {"ReduceLogSum", reduce_log_sum},
    {"ReduceLogSumExp", reduce_log_sum_exp},
    {"Attention", attention},
};

}  // namespace

std::span<const NamedFormula> norm_formulas() { return table; }

}  // namespace md::onnx
