// Types of reductions, matrix products, convolutions, pools, casts and the like.
#include <algorithm>

#include "lib/format/tflite/infer_rules.h"
#include "lib/format/tflite/operators.h"
#include "lib/op/ops.h"

namespace md::infer {
namespace {

bool is_quantized(const Value& value) {
  return value.quantization && !value.quantization->scale.empty() && !is_float(value.dtype);
}

constexpr const char* unknown_scale = "the quantization of its result does not follow from its operands";

Inferred plain(const Value& from, Shape shape) {
  if (is_quantized(from)) return unknown(unknown_scale);
  return Types{{from.dtype, std::move(shape), {}}};
}

tl::expected<Shape, NoType> reduced(const Site& site, bool keep) {
  const Value& x = site.at(0);
  const auto axes = constant_integers(site, 1, "axis");
  if (!axes) return no(axes.error());
  std::vector<char> drop(x.shape.size(), 0);
  for (const std::int64_t a : *axes) {
    const auto axis = axis_in(a, x.shape.size());
    if (!axis) return no("the axis is out of range");
    drop[*axis] = 1;
  }
  Shape shape;
  for (std::size_t d = 0; d < drop.size(); ++d) {
    if (!drop[d])
      shape.push_back(x.shape[d]);
    else if (keep)
      shape.push_back(1);
  }
  return shape;
}

Inferred reduction(const Site& site) {
  auto shape = reduced(site, site.node.attrs.flag("keep_dims"));
  if (!shape) return no(shape.error());
  const bool keeps = site.node.op == "REDUCE_MAX" || site.node.op == "REDUCE_MIN";
  return keeps ? moved(site.at(0), *shape) : plain(site.at(0), *shape);
}

Inferred arg_extreme(const Site& site) {
  auto shape = reduced(site, false);
  if (!shape) return no(shape.error());
  const auto type = dtype_of_tflite(site.node.attrs.integer("output_type", 2));
  return Types{{type == DType::i64 ? DType::i64 : DType::i32, *shape, {}}};
}

Inferred cast(const Site& site) {
  const auto* wanted = site.node.attrs.find("out_data_type");
  if (!wanted) return unknown("out_data_type is not given");
  return Types{{dtype_of_tflite(site.node.attrs.integer("out_data_type")).value_or(DType::unknown),
                site.at(0).shape,
                {}}};
}

Inferred dequantize(const Site& site) { return Types{{DType::f32, site.at(0).shape, {}}}; }

Inferred row_wise(const Site& site) { return plain(site.at(0), site.at(0).shape); }

Inferred softmax(const Site& site) {
  const Value& x = site.at(0);
  if (!is_quantized(x)) return plain(x, x.shape);
  if (x.dtype != DType::i8) return unknown(unknown_scale);
  Quantization q;  // fixed by the int8 kernel's definition
  q.scale = {1.0f / 256}, q.zero_point = {-128};
  return Types{{x.dtype, x.shape, q}};
}

Inferred fully_connected(const Site& site) {
  const Value &x = site.at(0), &w = site.at(1);
  if (w.rank() < 2 || x.shape.empty()) return no("expected a matrix of weights");
  const std::int64_t units = w.shape[0];
  if (site.node.attrs.flag("keep_num_dims")) {
    Shape shape = x.shape;
    shape.back() = units;
    return plain(x, std::move(shape));
  }
  const auto count = element_count(x.shape);
  const std::int64_t depth = w.shape.back();
  if (count && (depth <= 0 || *count % depth)) return no("the operand does not fit the weights");
  return plain(x, {count ? *count / depth : dynamic_dim, units});
}

Inferred batch_matmul(const Site& site) {
  Shape a = site.at(0).shape, b = site.at(1).shape;
  if (a.size() < 2 || b.size() < 2) return no("expected matrices");
  if (site.node.attrs.flag("adj_x")) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (site.node.attrs.flag("adj_y")) std::swap(b[b.size() - 1], b[b.size() - 2]);
  if (a.back() != b[b.size() - 2] && a.back() >= 0 && b[b.size() - 2] >= 0)
    return no(shape_text(a) + " times " + shape_text(b) + " does not fit");
  auto shape = broadcast_shape(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!shape) return no("the leading dimensions do not broadcast");
  shape->push_back(a[a.size() - 2]);
  shape->push_back(b.back());
  return plain(site.at(0), *shape);
}

/// Output length of a window along one axis; -1 when it has none.
std::int64_t window(std::int64_t n, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                    bool same_padding) {
  if (n < 0) return dynamic_dim;
  if (stride < 1 || kernel < 1 || dilation < 1) return -1;
  const std::int64_t reach = (kernel - 1) * dilation + 1;
  const std::int64_t span = same_padding ? n : n - reach + 1;
  return span < 0 ? -1 : (span + stride - 1) / stride;
}

Inferred windowed(const Site& site, std::int64_t kernel_h, std::int64_t kernel_w, std::int64_t channels) {
  const Value& x = site.at(0);
  const Attributes& attrs = site.node.attrs;
  if (x.rank() != 4) return no("expected a rank-4 operand");
  const bool same_padding = attrs.integer("padding") == 0;
  const std::int64_t h = window(x.shape[1], kernel_h, attrs.integer("stride_h", 1),
                                attrs.integer("dilation_h_factor", 1), same_padding);
  const std::int64_t w = window(x.shape[2], kernel_w, attrs.integer("stride_w", 1),
                                attrs.integer("dilation_w_factor", 1), same_padding);
  if ((h < 0 && x.shape[1] >= 0) || (w < 0 && x.shape[2] >= 0)) return no("the window does not fit");
  const bool pool = site.node.op == "MAX_POOL_2D" || site.node.op == "AVERAGE_POOL_2D";
  Shape shape = {x.shape[0], h, w, channels};
  return pool ? moved(x, std::move(shape)) : plain(x, std::move(shape));
}

Inferred convolution(const Site& site) {
  const Value& w = site.at(1);
  if (w.rank() != 4) return no("expected rank-4 weights");
  return windowed(site, w.shape[1], w.shape[2], site.node.op == "CONV_2D" ? w.shape[0] : w.shape[3]);
}

Inferred pool(const Site& site) {
  if (site.at(0).rank() != 4) return no("expected a rank-4 operand");
  return windowed(site, site.node.attrs.integer("filter_height", 1),
                  site.node.attrs.integer("filter_width", 1), site.at(0).shape[3]);
}

Inferred transpose_conv(const Site& site) {
  const auto shape = constant_integers(site, 0, "output shape");
  if (!shape) return no(shape.error());
  return plain(site.at(2), *shape);
}

Inferred shape_of(const Site& site) {
  const auto type = dtype_of_tflite(site.node.attrs.integer("out_type", 2));
  return Types{{type == DType::i64 ? DType::i64 : DType::i32, {site.at(0).rank()}, {}}};
}
Inferred rank_of(const Site&) { return Types{{DType::i32, {}, {}}}; }

Inferred range(const Site& site) {
  const auto start = constant_integers(site, 0, "start"), limit = constant_integers(site, 1, "limit"),
             delta = constant_integers(site, 2, "delta");
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 || delta->size() != 1 ||
      delta->front() == 0)
    return unknown("its bounds are not integer constants");
  const std::int64_t span = limit->front() - start->front(), step = delta->front();
  const std::int64_t length = step > 0 ? (span + step - 1) / step : (span + step + 1) / step;
  return Types{{site.at(0).dtype, {std::max<std::int64_t>(length, 0)}, {}}};
}

Inferred one_hot(const Site& site) {
  const auto depth = constant_integers(site, 1, "depth");
  if (!depth || depth->size() != 1) return unknown("its depth is not a constant");
  Shape shape = site.at(0).shape;
  const auto axis = axis_in(site.node.attrs.integer("axis", -1), shape.size() + 1);
  if (!axis) return no("the axis is out of range");
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), depth->front());
  return Types{{site.at(2).dtype, std::move(shape), {}}};
}

Inferred top_k(const Site& site) {
  const auto k = constant_integers(site, 1, "k");
  if (!k || k->size() != 1 || site.at(0).shape.empty()) return unknown("its k is not a constant");
  Shape shape = site.at(0).shape;
  shape.back() = k->front();
  return Types{{site.at(0).dtype, shape, site.at(0).quantization}, {DType::i32, shape, {}}};
}

Inferred embedding(const Site& site) {
  Shape shape = site.at(0).shape;
  if (site.at(1).shape.empty()) return no("expected a table");
  shape.insert(shape.end(), site.at(1).shape.begin() + 1, site.at(1).shape.end());
  return plain(site.at(1), std::move(shape));
}

Inferred broadcast_args(const Site& site) {
  const auto a = constant_integers(site, 0, "first shape"), b = constant_integers(site, 1, "second shape");
  if (!a || !b) return unknown("its shapes are not constants");
  return Types{{site.at(0).dtype, {static_cast<std::int64_t>(std::max(a->size(), b->size()))}, {}}};
}

Inferred complex_magnitude(const Site& site) { return Types{{DType::f32, site.at(0).shape, {}}}; }

constexpr Rule rules[] = {
    {"MEAN", reduction, 2},
    {"SUM", reduction, 2},
    {"REDUCE_MAX", reduction, 2},
    {"REDUCE_MIN", reduction, 2},
    {"REDUCE_PROD", reduction, 2},
    {"REDUCE_ALL", reduction, 2},
    {"REDUCE_ANY", reduction, 2},
    {"ARG_MAX", arg_extreme, 2},
    {"ARG_MIN", arg_extreme, 2},
    {"CAST", cast, 1},
    {"DEQUANTIZE", dequantize, 1},
    {"SOFTMAX", softmax, 1},
    {"LOG_SOFTMAX", row_wise, 1},
    {"L2_NORMALIZATION", row_wise, 1},
    {"PRELU", row_wise, 2},
    {"CUMSUM", row_wise, 2},
    {"ADD_N", row_wise, 1},
    {"LOCAL_RESPONSE_NORMALIZATION", row_wise, 1},
    {"FULLY_CONNECTED", fully_connected, 2},
    {"BATCH_MATMUL", batch_matmul, 2},
    {"CONV_2D", convolution, 2},
    {"DEPTHWISE_CONV_2D", convolution, 2},
    {"MAX_POOL_2D", pool, 1},
    {"AVERAGE_POOL_2D", pool, 1},
    {"L2_POOL_2D", pool, 1},
    {"TRANSPOSE_CONV", transpose_conv, 3},
    {"SHAPE", shape_of, 1},
    {"RANK", rank_of, 1},
    {"RANGE", range, 3},
    {"ONE_HOT", one_hot, 4},
    {"TOPK_V2", top_k, 2},
    {"EMBEDDING_LOOKUP", embedding, 2},
    {"BROADCAST_ARGS", broadcast_args, 2},
    {"COMPLEX_ABS", complex_magnitude, 1},
    {"REAL", complex_magnitude, 1},
    {"IMAG", complex_magnitude, 1},
};

}  // namespace

std::span<const Rule> arithmetic_rules() { return rules; }

}  // namespace md::infer
