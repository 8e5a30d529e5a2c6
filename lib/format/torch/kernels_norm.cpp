// Kernels of aten norms: their means are sums of the numeric mode, the rest is rounded as one operator.
#include <cmath>
#include <limits>

#include "lib/eval/primitives/reduction.h"
#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A weight or bias in the arithmetic's type; nothing when it is absent.
template <class T>
std::vector<T> numbers_of(const Tensor* t) {
  if (!t) return {};
  const As<T> from(*t);
  return {from.span().begin(), from.span().end()};
}

/// Result i from what was kept for each row; rows without elements leave zeros.
template <class T>
Status give_kept(KernelCall& call, std::size_t i, const Shape& shape, const std::vector<T>& values) {
  return give_numbers<T>(call, i, shape, [&](std::span<T> to) {
    std::fill(to.begin(), to.end(), T(0));
    std::copy_n(values.begin(), std::min(values.size(), to.size()), to.begin());
  });
}

/// y = x * scale + shift by channel, where scale = weight / sqrt(var + eps) and shift = bias - mean * scale.
Status batch_norm(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("input"), *mean = c.operand("running_mean"), *var = c.operand("running_var");
  if (!x || !mean || !var || x->rank() < 2 || call.attrs().flag("training"))
    return call.unsupported("in training");
  const auto channels = at(x->shape[1]);
  for (const Tensor* t : {mean, var, c.operand("weight"), c.operand("bias")})
    if (t && t->size() != channels) return c.bad("statistics that do not fit the channels");
  for (std::size_t i = 1; i < call.outputs.size(); ++i)
    if (auto ok = c.give({0}, {}, i); !ok) return ok;
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(*x), m(*mean), v(*var);
    const auto w = numbers_of<T>(c.operand("weight")), b = numbers_of<T>(c.operand("bias"));
    const T eps = static_cast<T>(call.attrs().number("eps", 1e-5));
    const auto inner = at(strides_of(x->shape)[1]);
    return give_numbers<T>(call, 0, x->shape, [&](std::span<T> to) {
      for (std::size_t i = 0; inner && i < to.size(); i += inner) {
        const std::size_t k = i / inner % channels;
        const T scale = (w.empty() ? T(1) : w[k]) / std::sqrt(v[k] + eps);
        const T shift = (b.empty() ? T(0) : b[k]) - m[k] * scale;
        for (std::size_t j = i; j < i + inner; ++j) to[j] = from[j] * scale + shift;
      }
    });
  });
}

/// AxisRows of `length` neighbouring elements, each brought to mean 0 (unless `rms`) and variance 1.
struct Rowwise {
  std::size_t length = 1;
  double eps = 1e-5;
  bool rms = false;
};

/// each(row, first element, mean, 1 / deviation)
template <class T, class Each>
void each_row(KernelCall& call, const As<T>& x, const Rowwise& rows, Each&& each) {
  ModeSum sum(call, true);
  const T n = static_cast<T>(rows.length), eps = static_cast<T>(rows.eps);
  for (std::size_t row = 0; rows.length && (row + 1) * rows.length <= x.size(); ++row) {
    const T* values = x.data() + row * rows.length;
    const T mean = rows.rms ? T(0) : sum.of<T>(rows.length, [&](std::size_t i) { return values[i]; }) / n;
    const T squares = sum.of<T>(rows.length, [&](std::size_t i) {
      const T d = values[i] - mean;
      return d * d;
    });
    each(row, row * rows.length, mean, T(1) / std::sqrt(squares / n + eps));
  }
}

/// rms_norm's own: of the type that it computes in.
double epsilon_of(DType type) { return type == DType::f64 ? 0x1.0p-52 : 0x1.0p-23; }

/// layer_norm, native_layer_norm and rms_norm: over the last axes.
Status layer_norm(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("input");
  const auto* axes = call.attrs().integers("normalized_shape");
  if (!x || !axes || axes->size() > x->shape.size() || x->lanes() != 1)
    return call.unsupported("with these operands");
  Rowwise rows;
  rows.rms = aten_base(call.node.op) == "aten.rms_norm";
  for (const std::int64_t d : *axes) rows.length *= at(d);
  rows.eps = c.given("eps") ? call.attrs().number("eps") : rows.rms ? epsilon_of(x->dtype) : 1e-5;
  for (const Tensor* t : {c.operand("weight"), c.operand("bias")})
    if (t && t->size() != rows.length) return c.bad("a weight that does not fit");
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(*x);
    const auto w = numbers_of<T>(c.operand("weight")), b = numbers_of<T>(c.operand("bias"));
    std::vector<T> means, scales;
    auto done = give_numbers<T>(call, 0, x->shape, [&](std::span<T> to) {
      each_row<T>(call, from, rows, [&](std::size_t, std::size_t first, T mean, T scale) {
        means.push_back(mean), scales.push_back(scale);
        for (std::size_t i = 0; i < rows.length; ++i) {
          T v = (from[first + i] - mean) * scale;
          if (!w.empty()) v *= w[i];
          to[first + i] = b.empty() ? v : v + b[i];
        }
      });
    });
    if (!done || call.outputs.size() != 3) return done;
    Shape kept = x->shape;
    for (std::size_t d = kept.size() - axes->size(); d < kept.size(); ++d) kept[d] = 1;
    if (auto ok = give_kept(call, 1, kept, means); !ok) return ok;
    return give_kept(call, 2, kept, scales);
  });
}

/// group_norm, native_group_norm, and instance_norm as groups of one channel.
Status group_norm(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("input");
  const bool instance = aten_base(call.node.op) == "aten.instance_norm";
  if (instance && !call.attrs().flag("use_input_stats", true))
    return call.unsupported("with kept statistics");
  if (!x || x->rank() < 2 || x->lanes() != 1) return call.unsupported("with these operands");
  const std::int64_t channels = x->shape[1],
                     groups = instance ? channels
                                       : call.attrs().integer(c.given("group") ? "group" : "num_groups");
  if (groups < 1 || channels % groups) return call.bad("groups that do not divide the channels");
  const auto inner = at(strides_of(x->shape)[1]), per_group = at(channels / groups);
  const Rowwise rows{per_group * inner, call.attrs().number("eps", 1e-5), false};
  for (const Tensor* t : {c.operand("weight"), c.operand("bias")})
    if (t && t->size() != at(channels)) return c.bad("a weight that does not fit");
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(*x);
    const auto w = numbers_of<T>(c.operand("weight")), b = numbers_of<T>(c.operand("bias"));
    std::vector<T> means, scales;
    auto done = give_numbers<T>(call, 0, x->shape, [&](std::span<T> to) {
      each_row<T>(call, from, rows, [&](std::size_t row, std::size_t first, T mean, T scale) {
        means.push_back(mean), scales.push_back(scale);
        for (std::size_t i = 0; i < rows.length; ++i) {
          const std::size_t k = row % at(groups) * per_group + i / inner;
          T v = (from[first + i] - mean) * scale;
          if (!w.empty()) v *= w[k];
          to[first + i] = b.empty() ? v : v + b[k];
        }
      });
    });
    if (!done || call.outputs.size() != 3) return done;
    if (auto ok = give_kept(call, 1, {x->shape[0], groups}, means); !ok) return ok;
    return give_kept(call, 2, {x->shape[0], groups}, scales);
  });
}

constexpr KernelEntry entries[] = {
    {"aten.batch_norm.default", batch_norm},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm},
    {"aten.layer_norm.default", layer_norm},
    {"aten.native_layer_norm.default", layer_norm},
    {"aten.rms_norm.default", layer_norm},
    {"aten.group_norm.default", group_norm},
    {"aten.native_group_norm.default", group_norm},
    {"aten.instance_norm.default", group_norm},
};

}  // namespace

std::span<const KernelEntry> aten_norm_kernels() { return entries; }

}  // namespace md
