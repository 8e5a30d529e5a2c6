// Inference of matrix products, convolutions, pools, resizing, recurrent operators and attention.
#include <algorithm>
#include <cmath>

#include "lib/format/onnx/infer_rules.h"
#include "lib/graph/encode.h"

namespace md::onnx {
namespace {

std::optional<Shape> product_shape(Site& s, Shape a, Shape b) {
  if (a.empty() || b.empty()) return s.no("an operand has no dimensions"), std::nullopt;
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const std::int64_t k = a.back(), n = b[b.size() - 2];
  if (k >= 0 && n >= 0 && k != n) return s.no("the inner dimensions differ"), std::nullopt;
  const Shape batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
  auto shape = broadcast_shape(batch_a, batch_b);
  if (!shape) return s.no("the batch dimensions do not broadcast"), std::nullopt;
  if (!row) shape->push_back(a[a.size() - 2]);
  if (!column) shape->push_back(b.back());
  return shape;
}

template <std::size_t second>
void matmul(Site& s) {
  if (!s.ranked(second)) return;
  Shape a = s.shape(0), b = s.shape(second);
  if (s.attrs().flag("transA") && a.size() > 1) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (s.attrs().flag("transB") && b.size() > 1) std::swap(b[b.size() - 1], b[b.size() - 2]);
  if (s.attrs().flag("transBatchA") || s.attrs().flag("transBatchB")) return;
  if (auto shape = product_shape(s, std::move(a), std::move(b))) s.give(0, std::move(*shape));
}

void gemm(Site& s) {
  const Shape &a = s.shape(0), &b = s.shape(1);
  if (a.size() != 2 || b.size() != 2) return s.no("expected matrices");
  const bool ta = s.attrs().flag("transA"), tb = s.attrs().flag("transB");
  const std::int64_t k = a[ta ? 0 : 1], n = b[tb ? 1 : 0];
  if (k >= 0 && n >= 0 && k != n) return s.no("the inner dimensions differ");
  s.give(0, {a[ta ? 1 : 0], b[tb ? 0 : 1]});
}

void matmul_bits(Site& s) {
  Shape shape = s.shape(0);
  if (shape.empty()) return;
  shape.back() = s.attrs().integer("N", dynamic_dim);
  s.give(0, std::move(shape));
}

// --- windows

struct Axis {
  std::int64_t kernel, stride, dilation, before, behind;
};

std::int64_t item(const Attributes& attrs, std::string_view name, std::size_t i, std::int64_t otherwise) {
  const auto* list = attrs.integers(name);
  return list && i < list->size() ? (*list)[i] : otherwise;
}

/// nullopt: numbers that nothing can be divided by.
std::optional<Axis> axis_of(const Site& s, std::size_t i, std::size_t axes, std::int64_t kernel) {
  const Attributes& a = s.attrs();
  Axis axis{item(a, "kernel_shape", i, kernel), item(a, "strides", i, 1), item(a, "dilations", i, 1),
            item(a, "pads", i, 0), item(a, "pads", axes + i, 0)};
  if (axis.stride < 1 || axis.dilation < 1 || axis.kernel < 1 || axis.kernel > (1LL << 31) ||
      axis.dilation > (1LL << 31))
    return std::nullopt;
  return axis;
}

std::int64_t windowed(const Site& s, std::int64_t in, const Axis& axis, bool ceil) {
  if (in < 0) return dynamic_dim;
  const std::string_view pad = s.attrs().text("auto_pad", "NOTSET");
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  if (pad == "SAME_UPPER" || pad == "SAME_LOWER") return (in + axis.stride - 1) / axis.stride;
  const std::int64_t total = pad == "VALID" ? in : in + axis.before + axis.behind;
  if (total < extent) return 0;
  if (!ceil) return (total - extent) / axis.stride + 1;
  std::int64_t out = (total - extent + axis.stride - 1) / axis.stride + 1;
  // A window that starts in the padding behind is none.
  if ((out - 1) * axis.stride >= in + (pad == "VALID" ? 0 : axis.before)) --out;
  return out;
}

template <std::size_t filter>
void convolution(Site& s) {
  if (!s.ranked(filter)) return;
  const Shape &x = s.shape(0), &w = s.shape(filter);
  if (x.size() < 3 || x.size() != w.size()) return s.no("the operand and the filter differ in rank");
  const std::int64_t group = s.attrs().integer("group", 1);
  if (x[1] >= 0 && w[1] >= 0 && times(w[1], group) != x[1]) return s.no("the channels do not fit the filter");
  Shape shape = {x[0], w[0]};
  for (std::size_t i = 2; i < x.size(); ++i) {
    if (w[i] < 0 && !s.attrs().integers("kernel_shape")) {
      shape.push_back(dynamic_dim);
      continue;
    }
    const auto axis = axis_of(s, i - 2, x.size() - 2, std::max<std::int64_t>(w[i], 1));
    if (!axis) return s.no("strides, dilations or kernel_shape are not positive");
    shape.push_back(windowed(s, x[i], *axis, false));
  }
  s.give(0, std::move(shape));
}

void transposed(Site& s) {
  const Shape &x = s.shape(0), &w = s.shape(1);
  if (x.size() < 3 || x.size() != w.size()) return s.no("the operand and the filter differ in rank");
  Shape shape = {x[0], times(w[1], s.attrs().integer("group", 1))};
  const std::size_t axes = x.size() - 2;
  const auto* fixed = s.attrs().integers("output_shape");
  const std::string_view pad = s.attrs().text("auto_pad", "NOTSET");
  for (std::size_t i = 0; i < axes; ++i) {
    const auto axis = axis_of(s, i, axes, std::max<std::int64_t>(w[i + 2], 1));
    if (!axis) return s.no("strides, dilations or kernel_shape are not positive");
    if (fixed && !fixed->empty())
      shape.push_back(fixed->size() == axes       ? (*fixed)[i]
                      : fixed->size() == axes + 2 ? (*fixed)[i + 2]
                                                  : dynamic_dim);
    else if (x[i + 2] < 0 || (w[i + 2] < 0 && !s.attrs().integers("kernel_shape")))
      shape.push_back(dynamic_dim);
    else if (pad == "SAME_UPPER" || pad == "SAME_LOWER")
      shape.push_back(times(x[i + 2], axis->stride));
    else
      shape.push_back(times(x[i + 2] - 1, axis->stride) + item(s.attrs(), "output_padding", i, 0) +
                      (axis->kernel - 1) * axis->dilation + 1 -
                      (pad == "VALID" ? 0 : axis->before + axis->behind));
  }
  s.give(0, std::move(shape));
}

void pool(Site& s) {
  const Shape& x = s.shape(0);
  const auto* kernel = s.attrs().integers("kernel_shape");
  if (x.size() < 3 || !kernel || kernel->size() != x.size() - 2)
    return s.no("kernel_shape needs one number a dimension behind the channels");
  Shape shape = {x[0], x[1]};
  for (std::size_t i = 0; i + 2 < x.size(); ++i) {
    const auto axis = axis_of(s, i, x.size() - 2, 1);
    if (!axis) return s.no("strides, dilations or kernel_shape are not positive");
    shape.push_back(windowed(s, x[i + 2], *axis, s.attrs().flag("ceil_mode")));
  }
  s.give(0, shape);
  s.give(1, std::move(shape));
}

void unpool(Site& s) {
  const Shape& x = s.shape(0);
  if (s.has(2)) {
    if (const auto given = s.numbers(2)) {
      Shape shape = *given;
      for (std::int64_t& n : shape) n = n == unknown_number ? dynamic_dim : n;
      s.give(0, std::move(shape));
    } else {
      s.give(0, Shape(x.size(), dynamic_dim));
    }
    return;
  }
  if (x.size() < 3) return;
  Shape shape = {x[0], x[1]};
  for (std::size_t i = 0; i + 2 < x.size(); ++i) {
    const auto axis = axis_of(s, i, x.size() - 2, 1);
    if (!axis) return s.no("strides or kernel_shape are not positive");
    shape.push_back(x[i + 2] < 0
                        ? dynamic_dim
                        : times(x[i + 2] - 1, axis->stride) + axis->kernel - axis->before - axis->behind);
  }
  s.give(0, std::move(shape));
}

void roi(Site& s) {
  const Shape &x = s.shape(0), &rois = s.shape(1);
  if (x.size() != 4 || rois.size() != 2) return s.no("expected an image of rank 4 and regions of rank 2");
  if (const auto* shape = s.attrs().integers("pooled_shape"))
    return shape->size() == 2 ? s.give(0, {rois[0], x[1], (*shape)[0], (*shape)[1]}) : s.no("pooled_shape");
  s.give(0, {rois[0], x[1], s.attrs().integer("output_height", 1), s.attrs().integer("output_width", 1)});
}

void grid_sample(Site& s) {
  const Shape &x = s.shape(0), &grid = s.shape(1);
  if (x.size() != grid.size() || x.size() < 3) return s.no("the operand and the grid differ in rank");
  Shape shape = {x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  s.give(0, std::move(shape));
}

void col2im(Site& s) {
  const auto image = s.numbers(1), block = s.all_numbers(2);
  const Shape& x = s.shape(0);
  if (x.size() != 3) return;
  if (!image || !block) {
    if (s.ranked(1) && s.shape(1).size() == 1 && s.shape(1)[0] > 0 && s.shape(1)[0] < 64) {
      Shape unknown(static_cast<std::size_t>(s.shape(1)[0]) + 2, dynamic_dim);
      unknown[0] = x[0];
      s.give(0, std::move(unknown));
    }
    return;
  }
  std::int64_t taps = 1;
  for (const std::int64_t n : *block) taps = times(taps, n);
  Shape shape = {x[0], x[1] < 0 || taps < 1 ? dynamic_dim : x[1] / taps};
  for (const std::int64_t n : *image) shape.push_back(n == unknown_number ? dynamic_dim : n);
  s.give(0, std::move(shape));
}

// --- resizing

std::optional<std::vector<double>> reals(const Site& s, std::size_t i) {
  if (!s.has(i) || !s.operands[i]->is_constant()) return std::nullopt;
  return decode(*s.operands[i]);
}

Shape scaled(const Shape& x, const std::vector<double>& scales) {
  Shape shape = x;
  for (std::size_t d = 0; d < shape.size() && d < scales.size(); ++d) {
    const double n = std::floor(static_cast<double>(static_cast<float>(x[d])) * scales[d]);
    shape[d] = x[d] < 0 || !(n >= 0 && n < 9e15) ? dynamic_dim : static_cast<std::int64_t>(n);
  }
  return shape;
}

void upsample(Site& s) {
  const Shape& x = s.shape(0);
  std::optional<std::vector<double>> scales;
  if (s.node.version >= 9) {
    scales = reals(s, 1);
  } else if (const AttrValue* list = s.attrs().find("scales")) {
    if (const auto* numbers = std::get_if<std::vector<double>>(list)) scales = *numbers;
  } else if (s.node.version < 7 && x.size() == 4) {
    scales = {1, 1, s.attrs().number("height_scale", 1), s.attrs().number("width_scale", 1)};
  }
  s.give(0, scales && scales->size() == x.size() ? scaled(x, *scales) : Shape(x.size(), dynamic_dim));
}

/// Sizes win; "not_larger" and "not_smaller" keep the proportions.
void resize(Site& s) {
  const Shape& x = s.shape(0);
  if (s.node.version < 11) {
    const auto scales = reals(s, 1);
    return s.give(0,
                  scales && scales->size() == x.size() ? scaled(x, *scales) : Shape(x.size(), dynamic_dim));
  }
  std::vector<std::size_t> axes;
  if (const auto* list = s.attrs().integers("axes"); list && !list->empty()) {
    for (const std::int64_t a : *list) {
      const auto axis = axis_in(a, x.size());
      if (!axis) return s.no("an axis is out of range");
      axes.push_back(*axis);
    }
  } else {
    for (std::size_t d = 0; d < x.size(); ++d) axes.push_back(d);
  }
  Shape shape = x;
  if (s.has(3)) {
    const auto sizes = s.numbers(3);
    const std::string_view policy = s.attrs().text("keep_aspect_ratio_policy", "stretch");
    if (sizes && sizes->size() != axes.size()) return s.no("sizes need one number an axis");
    double ratio = policy == "not_larger" ? HUGE_VAL : 0;
    bool known = sizes.has_value();
    for (std::size_t i = 0; known && i < axes.size(); ++i) {
      if ((*sizes)[i] < 0 || x[axes[i]] <= 0) {
        known = policy == "stretch";
        continue;
      }
      const double r = static_cast<double>((*sizes)[i]) / static_cast<double>(x[axes[i]]);
      ratio = policy == "not_larger" ? std::min(ratio, r) : std::max(ratio, r);
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      std::int64_t& n = shape[axes[i]];
      if (!known || (*sizes)[i] == unknown_number)
        n = dynamic_dim;
      else if (policy == "stretch")
        n = (*sizes)[i];
      else
        n = static_cast<std::int64_t>(std::floor(ratio * static_cast<double>(x[axes[i]]) + 0.5));
    }
    return s.give(0, std::move(shape));
  }
  const auto scales = reals(s, 2);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t& n = shape[axes[i]];
    const double size = scales && i < scales->size() ? std::floor(static_cast<double>(n) * (*scales)[i]) : -1;
    n = n < 0 || !(size >= 0 && size < 9e15) ? dynamic_dim : static_cast<std::int64_t>(size);
  }
  s.give(0, std::move(shape));
}

// --- others

/// ijk,kl->ijl with one size a letter.
void einsum(Site& s) {
  std::string text;
  for (const char c : s.attrs().text("equation"))
    if (c != ' ') text += c;
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow), right;
  std::map<char, std::int64_t> sizes;
  std::map<char, int> seen;
  Shape batch;
  std::size_t operand = 0;
  while (operand < s.operands.size()) {
    if (!s.ranked(operand)) return;
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::string term = left.substr(0, comma);
    left.erase(0, std::min(comma + 1, left.size()));
    const Shape& x = s.shape(operand++);
    const std::size_t dots = term.find("...");
    const std::size_t named = term.size() - (dots == std::string::npos ? 0 : 3);
    if (named > x.size() || (dots == std::string::npos && named != x.size()))
      return s.no("a term of the equation does not have the operand's rank");
    std::size_t d = 0;
    for (std::size_t c = 0; c < term.size(); ++c) {
      if (c == dots) {
        const Shape part(x.begin() + static_cast<std::ptrdiff_t>(d),
                         x.begin() + static_cast<std::ptrdiff_t>(d + x.size() - named));
        auto joined = broadcast_shape(batch, part);
        if (!joined) return s.no("the dimensions of the dots do not broadcast");
        batch = std::move(*joined);
        d += x.size() - named, c += 2;
        continue;
      }
      auto [at, added] = sizes.emplace(term[c], x[d]);
      if (!added && (at->second < 0 || at->second == 1)) at->second = x[d];
      ++seen[term[c]], ++d;
    }
  }
  if (arrow != std::string::npos) {
    right = text.substr(arrow + 2);
  } else {
    if (text.find("...") != std::string::npos) right = "...";
    for (const auto& [letter, count] : seen)
      if (count == 1) right += letter;
  }
  Shape shape;
  for (std::size_t c = 0; c < right.size(); ++c) {
    if (right.compare(c, 3, "...") == 0) {
      shape.insert(shape.end(), batch.begin(), batch.end());
      c += 2;
    } else {
      const auto at = sizes.find(right[c]);
      if (at == sizes.end()) return s.no("the result names a letter that no operand has");
      shape.push_back(at->second);
    }
  }
  s.give(0, std::move(shape));
}

void recurrent(Site& s) {
  const Shape& x = s.shape(0);
  if (x.size() != 3) return s.no("expected an operand of rank 3");
  const std::int64_t directions = s.attrs().text("direction", "forward") == "bidirectional" ? 2 : 1;
  std::int64_t hidden = s.attrs().integer("hidden_size", dynamic_dim);
  if (hidden < 0 && s.ranked(2) && s.shape(2).size() == 3) hidden = s.shape(2)[2];
  if (s.attrs().flag("layout")) {
    s.give(0, {x[0], x[1], directions, hidden});
    s.give(1, {x[0], directions, hidden}), s.give(2, {x[0], directions, hidden});
  } else {
    s.give(0, {x[0], directions, x[1], hidden});
    s.give(1, {directions, x[1], hidden}), s.give(2, {directions, x[1], hidden});
  }
}

/// Attention of the default domain: heads in a dimension of their own (rank 4), or in the last one.
void attention(Site& s) {
  if (!s.ranked(1) || !s.ranked(2)) return;
  const Shape &q = s.shape(0), &k = s.shape(1), &v = s.shape(2);
  if (q.size() != k.size() || q.size() != v.size()) return;
  const std::int64_t q_heads = q.size() == 4 ? q[1] : s.attrs().integer("q_num_heads"),
                     kv_heads = q.size() == 4 ? k[1] : s.attrs().integer("kv_num_heads");
  const auto split = [](std::int64_t n, std::int64_t heads) {
    return n < 0 || heads < 1 ? dynamic_dim : n / heads;
  };
  std::int64_t past = 0;
  if (s.has(4)) past = s.ranked(4) && s.shape(4).size() == 4 ? s.shape(4)[2] : dynamic_dim;
  const auto plus = [](std::int64_t a, std::int64_t b) { return a < 0 || b < 0 ? dynamic_dim : a + b; };
  if (q.size() == 4) {
    s.give(0, {q[0], q[1], q[2], v[3]});
    const std::int64_t total = plus(k[2], past);
    s.give(1, {k[0], k[1], total, k[3]});
    s.give(2, {v[0], v[1], total, v[3]});
    s.give(3, {q[0], q[1], q[2], total});
  } else if (q.size() == 3) {
    s.give(0, {q[0], q[1], times(split(v[2], kv_heads), q_heads)});
    const std::int64_t total = plus(k[1], past);
    s.give(1, {k[0], kv_heads, total, split(k[2], kv_heads)});
    s.give(2, {v[0], kv_heads, total, split(v[2], kv_heads)});
    s.give(3, {q[0], q_heads, q[1], total});
  }
}

void fused_attention(Site& s) {  // com.microsoft.Attention: weights [input, 3 * hidden]
  Shape shape = s.shape(0);
  if (!s.ranked(1) || s.shape(1).size() != 2 || shape.size() != 3) return;
  if (const auto* sizes = s.attrs().integers("qkv_hidden_sizes"); sizes && sizes->size() == 3)
    shape.back() = (*sizes)[2];
  else
    shape.back() = s.shape(1)[1] < 0 ? dynamic_dim : s.shape(1)[1] / 3;
  s.give(0, std::move(shape));
}

void multi_head(Site& s) {
  const Shape& q = s.shape(0);
  if (q.size() == 3 && s.ranked(2) && s.shape(2).size() == 3)
    s.give(0, {q[0], q[1], s.shape(2)[2]});
  else if (q.size() == 3 && !s.has(2) && !s.has(1))
    s.give(0, {q[0], q[1], q[2] < 0 ? dynamic_dim : q[2] / 3});
}

/// A state a head beside the queries' length of values.
void linear_attention(Site& s) {
  const Shape &q = s.shape(0), &k = s.shape(1), &v = s.shape(2);
  if (q.size() != 3 || k.size() != 3 || v.size() != 3) return;
  const std::int64_t q_heads = s.attrs().integer("q_num_heads"), kv_heads = s.attrs().integer("kv_num_heads");
  if (q_heads < 1 || kv_heads < 1) return;
  const auto split = [](std::int64_t n, std::int64_t heads) { return n < 0 ? dynamic_dim : n / heads; };
  s.give(0, {q[0], q[1], times(split(v[2], kv_heads), q_heads)});
  s.give(1, {q[0], kv_heads, split(k[2], kv_heads), split(v[2], kv_heads)});
  if (s.out.size() > 1 && s.out[1].dtype == DType::unknown) s.out[1].dtype = s.dtype(0);
}

void causal_convolution(Site& s) {
  const Shape &x = s.shape(0), &w = s.shape(1);
  if (x.size() != 3 || w.size() != 3) return s.no("expected operands of rank 3");
  s.give(0, x);
  s.give(1, {x[0], x[1], w[2] < 1 ? dynamic_dim : w[2] - 1});
}

void group_query(Site& s) {
  if (s.shape(0).size() == 3 && s.has(1)) s.give(0, s.shape(0));
}

constexpr Rule rules[] = {
    {"MatMul MatMulInteger FusedMatMul TransposeMatMul DynamicQuantizeMatMul MatMulIntegerToFloat", matmul<1>,
     2},
    {"QLinearMatMul", matmul<3>},
    {"Gemm FusedGemm GemmFastGelu", gemm, 2},
    {"MatMulNBits MatMulBnb4", matmul_bits},
    {"Conv ConvInteger FusedConv", convolution<1>},
    {"QLinearConv", convolution<3>},
    {"DeformConv", convolution<1>},
    {"ConvTranspose", transposed, 2},
    {"AveragePool LpPool MaxPool", pool},
    {"MaxUnpool", unpool},
    {"MaxRoiPool RoiAlign", roi, 2},
    {"GridSample", grid_sample, 2},
    {"Col2Im", col2im},
    {"Upsample", upsample},
    {"Resize", resize},
    {"Einsum", einsum, 0},
    {"LSTM GRU RNN", recurrent},
    {"Attention", attention, 3},
    {"com.microsoft.Attention", fused_attention, 2},
    {"MultiHeadAttention", multi_head},
    {"GroupQueryAttention", group_query},
    {"LinearAttention", linear_attention, 3},
    {"CausalConvWithState", causal_convolution, 2},
};

}  // namespace

std::span<const Rule> product_rules() { return rules; }

}  // namespace md::onnx
