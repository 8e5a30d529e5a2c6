// Kernels of aten operators that stand for whole layers: norms, attention, embeddings, activations, pools.
// Numbers are kept in double and rounded once.
#include <limits>
#include <numbers>

#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

using Numbers = std::vector<double>;

Numbers numbers_of(const Tensor* t) { return t ? t->numbers() : Numbers{}; }

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// y = (x - mean) / sqrt(var + eps) * weight + bias, all by channel (axis 1).
Status batch_norm(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("input"), *mean = c.operand("running_mean"), *var = c.operand("running_var");
  if (!x || !mean || !var || x->rank() < 2 || call.attrs().flag("training"))
    return call.unsupported("in training");
  const auto m = mean->numbers(), v = var->numbers(), w = numbers_of(c.operand("weight")),
             b = numbers_of(c.operand("bias"));
  const double eps = call.attrs().number("eps", 1e-5);
  const auto channels = at(x->shape[1]);
  if (m.size() != channels || v.size() != channels) return c.bad("statistics that do not fit the channels");
  const auto stride = at(strides_of(x->shape)[1]);
  Numbers out = x->numbers();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t k = i / stride % channels;
    out[i] = (out[i] - m[k]) / std::sqrt(v[k] + eps) * (w.empty() ? 1 : w[k]) + (b.empty() ? 0 : b[k]);
  }
  if (call.outputs.size() > 1)
    for (std::size_t i = 1; i < call.outputs.size(); ++i)
      if (auto ok = c.give({0}, {}, i); !ok) return ok;
  return c.give(x->shape, out);
}

/// Groups of `length` neighbouring elements, each brought to mean 0 (unless `rms`) and variance 1.
Numbers normalized(Numbers x, std::size_t length, double eps, bool rms, Numbers* means = nullptr,
                   Numbers* scales = nullptr) {
  for (std::size_t first = 0; length && first + length <= x.size(); first += length) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < length && !rms; ++i) mean += x[first + i] / static_cast<double>(length);
    for (std::size_t i = 0; i < length; ++i)
      square += (x[first + i] - mean) * (x[first + i] - mean) / static_cast<double>(length);
    const double scale = 1 / std::sqrt(square + eps);
    for (std::size_t i = 0; i < length; ++i) x[first + i] = (x[first + i] - mean) * scale;
    if (means) means->push_back(mean);
    if (scales) scales->push_back(scale);
  }
  return x;
}

/// layer_norm, native_layer_norm and rms_norm: over the last axes.
Status layer_norm(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("input");
  const auto* axes = call.attrs().integers("normalized_shape");
  if (!x || !axes || axes->size() > x->shape.size()) return call.unsupported("with these operands");
  const bool rms = aten_base(call.node.op) == "aten.rms_norm";
  std::size_t length = 1;
  for (const std::int64_t d : *axes) length *= at(d);
  const double eps = call.attrs().number("eps", rms ? std::numeric_limits<float>::epsilon() : 1e-5);
  Numbers means, scales;
  Numbers out = normalized(x->numbers(), length, eps, rms, &means, &scales);
  const auto w = numbers_of(c.operand("weight")), b = numbers_of(c.operand("bias"));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = out[i] * (w.empty() ? 1 : w[i % length]) + (b.empty() ? 0 : b[i % length]);
  if (call.outputs.size() == 3) {
    Shape rows = x->shape;
    for (std::size_t d = rows.size() - axes->size(); d < rows.size(); ++d) rows[d] = 1;
    if (auto ok = c.give(rows, means, 1); !ok) return ok;
    if (auto ok = c.give(rows, scales, 2); !ok) return ok;
  }
  return c.give(x->shape, out);
}

Status group_norm(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("input");
  const std::int64_t groups = call.attrs().integer("num_groups", 0);
  if (!x || x->rank() < 2 || groups < 1 || x->shape[1] % groups)
    return call.unsupported("with these operands");
  const std::int64_t inner = strides_of(x->shape)[1];
  Numbers out =
      normalized(x->numbers(), at(x->shape[1] / groups * inner), call.attrs().number("eps", 1e-5), false);
  const auto w = numbers_of(c.operand("weight")), b = numbers_of(c.operand("bias"));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t k = i / at(inner) % at(x->shape[1]);
    out[i] = out[i] * (w.empty() ? 1 : w[k]) + (b.empty() ? 0 : b[k]);
  }
  return c.give(x->shape, out);
}

Status embedding(KernelCall& call) {
  AtenCall c(call);
  const Tensor *table = c.operand("weight"), *which = c.operand("indices");
  if (!table || !which || table->rank() != 2) return call.unsupported("with these operands");
  std::vector<std::int64_t> from;
  for (const std::int64_t row : which->integers()) {
    if (row < 0 || row >= table->shape[0]) return c.bad("an index outside the table");
    for (std::int64_t i = 0; i < table->shape[1]; ++i) from.push_back(row * table->shape[1] + i);
  }
  Shape shape = which->shape;
  shape.push_back(table->shape[1]);
  return c.move(*table, shape, from);
}

/// softmax(q k^T scale + mask) v with broadcast batches.
Status attention(KernelCall& call) {
  AtenCall c(call);
  const Tensor *q = c.operand("query"), *k = c.operand("key"), *v = c.operand("value"),
               *mask = c.operand("attn_mask");
  if (!q || !k || !v || q->rank() < 2 || q->rank() != k->rank() || q->rank() != v->rank() ||
      call.attrs().number("dropout_p") != 0)
    return call.unsupported("with these operands");
  const auto batch_of = [](const Tensor& t) { return Shape(t.shape.begin(), t.shape.end() - 2); };
  Shape batch = batch_of(*q);
  const bool grouped = call.attrs().flag("enable_gqa");
  if (!grouped && (batch != batch_of(*k) || batch != batch_of(*v)))
    return call.unsupported("with broadcast heads");
  const std::int64_t heads = batch.empty() ? 1 : batch.back(),
                     key_heads = batch.empty() ? 1 : batch_of(*k).back();
  if (key_heads < 1 || heads % key_heads) return c.bad("heads that do not fit");
  const std::int64_t rows = q->shape[q->shape.size() - 2], depth = q->shape.back(),
                     columns = k->shape[k->shape.size() - 2], width = v->shape.back();
  if (k->shape.back() != depth || v->shape[v->shape.size() - 2] != columns)
    return c.bad("sizes that do not fit");
  Shape scores = batch, shape = batch;
  scores.push_back(rows), scores.push_back(columns), shape.push_back(rows), shape.push_back(width);
  std::vector<std::int64_t> mask_at;
  if (mask) {
    if (aten_broadcast({mask->shape, scores}) != std::optional(scores))
      return c.bad("a mask that does not fit");
    mask_at = broadcast_positions(mask->shape, scores);
  }
  const auto qs = q->numbers(), ks = k->numbers(), vs = v->numbers(), ms = numbers_of(mask);
  const AttrValue* asked = call.attrs().find("scale");
  const double scale = asked && !std::holds_alternative<std::monostate>(*asked)
                           ? call.attrs().number("scale")
                           : 1 / std::sqrt(static_cast<double>(depth));
  const bool causal = call.attrs().flag("is_causal"), marks = mask && mask->dtype == DType::boolean;
  Numbers out(at(product(shape)), 0.0), line(at(columns));
  std::int64_t outer = 1;
  for (const std::int64_t d : batch) outer *= d;
  for (std::int64_t p = 0; p < outer; ++p) {
    const std::int64_t kp = grouped ? p / heads * key_heads + p % heads / (heads / key_heads) : p;
    for (std::int64_t i = 0; i < rows; ++i) {
      double most = -std::numeric_limits<double>::infinity(), total = 0;
      for (std::int64_t j = 0; j < columns; ++j) {
        double s = 0;
        for (std::int64_t t = 0; t < depth; ++t)
          s += qs[at((p * rows + i) * depth + t)] * ks[at((kp * columns + j) * depth + t)];
        s *= scale;
        if (mask) {
          const double m = ms[at(mask_at[at((p * rows + i) * columns + j)])];
          s = marks ? (m != 0 ? s : -std::numeric_limits<double>::infinity()) : s + m;
        }
        if (causal && j > i) s = -std::numeric_limits<double>::infinity();
        line[at(j)] = s, most = std::isnan(s) ? s : std::max(most, s);
      }
      for (double& s : line) total += s = std::exp(s - most);
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t t = 0; t < width; ++t)
          out[at((p * rows + i) * width + t)] += line[at(j)] / total * vs[at((kp * columns + j) * width + t)];
    }
  }
  return c.give(shape, out);
}

/// f(x) by element; parameters of the operator are read from its attributes.
Status activation(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const std::string base = aten_base(call.node.op);
  const auto number = [&](std::string_view name, double otherwise) {
    return call.attrs().number(name, otherwise);
  };
  const double inf = std::numeric_limits<double>::infinity();
  double low = -inf, high = inf;
  if (base == "aten.hardtanh") low = number("min_val", -1), high = number("max_val", 1);
  if (base == "aten.relu6") low = 0, high = 6;
  if (base == "aten.clamp_min") low = number("min", -inf);
  if (base == "aten.clamp_max") high = number("max", inf);
  const double slope = number("negative_slope", 0.01), alpha = number("alpha", 1), beta = number("beta", 1),
               threshold = number("threshold", 20);
  const auto six = [](double v) { return std::isnan(v) ? v : std::clamp(v + 3, 0.0, 6.0) / 6; };
  Numbers out = call.in(0).numbers();
  if (call.in(0).lanes() != 1) return call.unsupported("on complex values");
  for (double& v : out) {
    if (base == "aten.leaky_relu")
      v = v < 0 ? v * slope : v;
    else if (base == "aten.elu")
      v = v < 0 ? alpha * std::expm1(v) : v;
    else if (base == "aten.hardswish")
      v *= six(v);
    else if (base == "aten.hardsigmoid")
      v = six(v);
    else if (base == "aten.softplus")
      v = v * beta > threshold ? v : std::log1p(std::exp(v * beta)) / beta;
    else if (base == "aten.log1p")
      v = std::log1p(v);
    else if (base == "aten.exp2")
      v = std::exp2(v);
    else if (base == "aten.sign")
      v = v > 0 ? 1 : v < 0 ? -1 : v;
    else if (base == "aten.ceil")
      v = std::ceil(v);
    else if (base == "aten.round")
      v = std::nearbyint(v);
    else if (base == "aten.trunc")
      v = std::trunc(v);
    else if (base == "aten.isfinite")
      v = std::isfinite(v) ? 1 : 0;
    else if (base == "aten.isnan")
      v = std::isnan(v) ? 1 : 0;
    else if (!std::isnan(v))
      v = std::clamp(v, low, high);
  }
  return c.give(call.in(0).shape, out);
}

/// fill_ with a tensor of one element.
Status fill(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *value = c.operand("value");
  if (!x || !value || value->size() != 1 || x->lanes() != 1) return call.unsupported("with these operands");
  if (!is_float(call.out_value().dtype))
    return c.give_integers(x->shape, std::vector<std::int64_t>(x->size(), value->integer(0)));
  return c.give(x->shape, Numbers(x->size(), value->number(0)));
}

Status masked_fill(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *mask = c.operand("mask");
  const auto value = c.value("value");
  if (!x || !mask || !value || x->lanes() != 1) return call.unsupported("with these operands");
  const auto shape = aten_broadcast({x->shape, mask->shape});
  if (!shape) return c.bad("a mask that does not fit");
  const auto from = broadcast_positions(x->shape, *shape), marks = broadcast_positions(mask->shape, *shape);
  const auto m = mask->integers();
  if (!x->is_float()) {
    const auto numbers = x->integers();
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < from.size(); ++i)
      out.push_back(m[at(marks[i])] ? value->integer(0) : numbers[at(from[i])]);
    return c.give_integers(*shape, out);
  }
  const auto numbers = x->numbers();
  Numbers out;
  for (std::size_t i = 0; i < from.size(); ++i)
    out.push_back(m[at(marks[i])] ? value->number(0) : numbers[at(from[i])]);
  return c.give(*shape, out);
}

/// The last two axes exchanged (mT), or all of them reversed (T).
Status turned(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  std::vector<std::size_t> order(x.shape.size());
  for (std::size_t d = 0; d < order.size(); ++d)
    order[d] = aten_base(call.node.op) == "aten.numpy_T" ? order.size() - 1 - d : d;
  if (aten_base(call.node.op) == "aten.mT") {
    if (order.size() < 2) return c.bad("a vector");
    std::swap(order[order.size() - 1], order[order.size() - 2]);
  }
  const auto strides = strides_of(x.shape);
  Shape out;
  for (const std::size_t d : order) out.push_back(x.shape[d]);
  std::vector<std::int64_t> from;
  for_each_index(out, [&](const std::vector<std::int64_t>& index) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < order.size(); ++d) place += index[d] * strides[order[d]];
    from.push_back(place);
  });
  return c.move(x, out, from);
}

/// tril and triu: zeros above or below a diagonal.
Status triangle(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.rank() < 2 || x.lanes() != 1) return call.unsupported("with these operands");
  const bool lower = aten_base(call.node.op) == "aten.tril";
  const std::int64_t diagonal = call.attrs().integer("diagonal"), rows = x.shape[x.shape.size() - 2],
                     columns = x.shape.back();
  std::vector<std::int64_t> from;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
    const std::int64_t row = i / columns % rows, column = i % columns;
    from.push_back((lower ? column - row <= diagonal : column - row >= diagonal) ? i : -1);
  }
  return c.move(x, x.shape, from);
}

/// split, split_with_sizes, chunk and unbind: several results along one axis. The graph says how long each
/// is.
Status parts(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const int dim = x.rank() ? c.dim("dim", x.rank(), 0) : -1;
  if (dim < 0) return c.bad("an axis outside the tensor");
  const bool unbind = aten_base(call.node.op) == "aten.unbind";
  const auto strides = strides_of(x.shape);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const Shape& typed = call.out_value(i).shape;
    const std::int64_t length = unbind ? 1 : typed.size() == x.shape.size() ? typed[at(dim)] : -1;
    if (length < 0 || start + length > x.shape[at(dim)]) return c.bad("parts that do not fit");
    Shape out = x.shape;
    out[at(dim)] = length;
    std::vector<std::int64_t> from;
    for_each_index(out, [&](const std::vector<std::int64_t>& index) {
      std::int64_t place = start * strides[at(dim)];
      for (std::size_t d = 0; d < index.size(); ++d) place += index[d] * strides[d];
      from.push_back(place);
    });
    if (unbind) out.erase(out.begin() + dim);
    if (auto ok = c.move(x, out, from, i); !ok) return ok;
    start += length;
  }
  return {};
}

Status log_softmax(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const int dim = x.rank() ? c.dim("dim", x.rank()) : -1;
  if (dim < 0) return c.bad("an axis outside the tensor");
  const auto stride = at(strides_of(x.shape)[at(dim)]), length = at(x.shape[at(dim)]);
  Numbers out = x.numbers();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i / stride % length) continue;
    double most = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::size_t k = 0; k < length; ++k) most = std::max(most, out[i + k * stride]);
    for (std::size_t k = 0; k < length; ++k) total += std::exp(out[i + k * stride] - most);
    for (std::size_t k = 0; k < length; ++k) out[i + k * stride] -= most + std::log(total);
  }
  return c.give(x.shape, out);
}

/// adaptive_avg_pool2d to any size: the mean of each window.
Status adaptive_mean(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("self");
  const auto* size = call.attrs().integers("output_size");
  if (!x || x->rank() < 3 || !size || size->empty()) return call.unsupported("with these operands");
  const std::size_t first = x->shape.size() - 2;
  Shape out = x->shape;
  for (std::size_t d = 0; d < 2; ++d) out[first + d] = (*size)[std::min(d, size->size() - 1)];
  const auto strides = strides_of(x->shape);
  const auto numbers = x->numbers();
  Numbers means;
  for_each_index(out, [&](const std::vector<std::int64_t>& index) {
    std::int64_t base = 0, low[2], high[2];
    for (std::size_t d = 0; d < first; ++d) base += index[d] * strides[d];
    for (std::size_t d = 0; d < 2; ++d) {
      low[d] = index[first + d] * x->shape[first + d] / out[first + d];
      high[d] = ((index[first + d] + 1) * x->shape[first + d] + out[first + d] - 1) / out[first + d];
    }
    double total = 0;
    for (std::int64_t i = low[0]; i < high[0]; ++i)
      for (std::int64_t j = low[1]; j < high[1]; ++j) total += numbers[at(base + i * strides[first] + j)];
    means.push_back(total /
                    static_cast<double>(std::max<std::int64_t>((high[0] - low[0]) * (high[1] - low[1]), 1)));
  });
  return c.give(out, means);
}

/// The body of a region that only switches autocast or gradients: what it computes is in the types of its
/// values.
Status region(KernelCall& call) {
  if (call.node.subgraphs.size() != 1 || !call.call_graph) return call.unsupported("with these graphs");
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < call.count(); ++i) {
    if (!call.has(i)) return call.unsupported("with an absent operand");
    inputs.push_back(call.in(i));
  }
  auto results = call.call_graph(call.node.subgraphs[0], std::move(inputs));
  if (!results) return tl::make_unexpected(results.error());
  if (results->size() != call.outputs.size())
    return call.bad("another number of results than its graph gives");
  call.outputs = std::move(*results);
  return {};
}

constexpr KernelEntry entries[] = {
    {"aten.batch_norm.default", batch_norm},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm},
    {"aten.layer_norm.default", layer_norm},
    {"aten.native_layer_norm.default", layer_norm},
    {"aten.rms_norm.default", layer_norm},
    {"aten.group_norm.default", group_norm},
    {"aten.embedding.default", embedding},
    {"aten.scaled_dot_product_attention.default", attention},
    {"aten.hardtanh.default", activation},
    {"aten.hardtanh_.default", activation},
    {"aten.relu6.default", activation},
    {"aten.clamp_min.default", activation},
    {"aten.clamp_max.default", activation},
    {"aten.leaky_relu.default", activation},
    {"aten.leaky_relu_.default", activation},
    {"aten.elu.default", activation},
    {"aten.hardswish.default", activation},
    {"aten.hardswish_.default", activation},
    {"aten.hardsigmoid.default", activation},
    {"aten.softplus.default", activation},
    {"aten.log1p.default", activation},
    {"aten.exp2.default", activation},
    {"aten.sign.default", activation},
    {"aten.ceil.default", activation},
    {"aten.round.default", activation},
    {"aten.trunc.default", activation},
    {"aten.isfinite.default", activation},
    {"aten.isnan.default", activation},
    {"aten.fill.Tensor", fill},
    {"aten.fill_.Tensor", fill},
    {"aten.masked_fill.Scalar", masked_fill},
    {"aten.masked_fill_.Scalar", masked_fill},
    {"aten.masked_fill.Tensor", masked_fill},
    {"aten.masked_fill_.Tensor", masked_fill},
    {"aten.tril.default", triangle},
    {"aten.tril_.default", triangle},
    {"aten.triu.default", triangle},
    {"aten.triu_.default", triangle},
    {"aten.mT.default", turned},
    {"aten.numpy_T.default", turned},
    {"aten.split.Tensor", parts},
    {"aten.split_with_sizes.default", parts},
    {"aten.chunk.default", parts},
    {"aten.unbind.int", parts},
    {"aten.log_softmax.int", log_softmax},
    {"aten._log_softmax.default", log_softmax},
    {"aten.adaptive_avg_pool2d.default", adaptive_mean},
    {"aten._adaptive_avg_pool2d.default", adaptive_mean},
    {"higher_order.wrap_with_autocast", region},
    {"higher_order.wrap_with_set_grad_enabled", region},
};

}  // namespace

std::span<const KernelEntry> aten_network_kernels() { return entries; }

}  // namespace md
