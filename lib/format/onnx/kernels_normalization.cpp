// Kernels of normalizations: sums in the arithmetic of the numeric mode.
#include <cmath>

#include "lib/eval/primitives/axis_rows.h"
#include "lib/eval/primitives/reduction.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;

template <class T>
T inverse_root(T v) {
  return T(1) / std::sqrt(v);
}

/// One number for each channel (the second axis).
Status batch_norm(KernelCall& call) {
  if (auto ok = call.need(5); !ok) return ok;
  const Tensor& x = call.in(0);
  const bool training = call.node.version >= 14 ? call.attrs().flag("training_mode")
                                                : call.node.version < 7 && !call.attrs().flag("is_test");
  const std::int64_t channels = x.rank() > 1 ? x.shape[1] : 1;
  for (std::size_t i = 1; i < 5; ++i)
    if (static_cast<std::int64_t>(call.in(i).size()) != channels)
      return call.bad("statistics that do not fit");
  const std::size_t inner = x.rank() > 2 ? at(product(std::span<const std::int64_t>(x.shape).subspan(2))) : 1,
                    c = at(channels);
  const double epsilon = call.attrs().number("epsilon", 1e-5),
               momentum = call.attrs().number("momentum", 0.9);
  return with_floats(call, x.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const As<T> from(x), scale(call.in(1)), bias(call.in(2)), mean_in(call.in(3)), var_in(call.in(4));
    std::vector<T> mean(mean_in.span().begin(), mean_in.span().end()),
        var(var_in.span().begin(), var_in.span().end());
    const std::size_t batches = c * inner > 0 ? from.size() / (c * inner) : 0, n = batches * inner;
    if (training && n > 0) {
      ModeSum sum(call, true);
      for (std::size_t k = 0; k < c; ++k) {
        const auto value = [&](std::size_t i) { return from[(i / inner * c + k) * inner + i % inner]; };
        mean[k] = sum.template of<T>(n, value) / static_cast<T>(n);
        var[k] = sum.template of<T>(n, [&](std::size_t i) {
          return (value(i) - mean[k]) * (value(i) - mean[k]);
        }) / static_cast<T>(n);
      }
      for (std::size_t i = 1; i < 3; ++i) {
        if (!onnx::wants(call, i)) continue;
        std::vector<double> running;
        for (std::size_t k = 0; k < c; ++k)
          running.push_back(
              (i == 1 ? static_cast<double>(mean_in[k]) : static_cast<double>(var_in[k])) * momentum +
              (i == 1 ? static_cast<double>(mean[k]) : static_cast<double>(var[k])) * (1 - momentum));
        if (auto ok = onnx::give(call, i, {channels}, running); !ok) return ok;
      }
    } else {
      for (std::size_t i = 1; i < call.outputs.size(); ++i)
        if (onnx::wants(call, i)) call.outputs[i] = call.in(i % 2 == 1 ? 3 : 4);
    }
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        const std::size_t k = i / inner % c;
        to[i] = (from[i] - mean[k]) * (scale[k] * inverse_root(var[k] + static_cast<T>(epsilon))) + bias[k];
      }
    });
  });
}

struct RowNorm {
  bool centered = true;
  double epsilon = 1e-5;
};

/// Rows of `length` neighbouring elements: y = (x - mean) / sqrt(mean of squares + epsilon).
template <class T>
void normalize_rows(KernelCall& call, const T* from, T* to, std::size_t rows, std::size_t length,
                    const RowNorm& how, std::vector<T>* means, std::vector<T>* inverses) {
  ModeSum sum(call, true);
  for (std::size_t r = 0; r < rows; ++r) {
    const T* x = from + r * length;
    const T n = static_cast<T>(length);
    const T mean = how.centered ? sum.template of<T>(length, [&](std::size_t k) { return x[k]; }) / n : T(0);
    const T square =
        sum.template of<T>(length, [&](std::size_t k) { return (x[k] - mean) * (x[k] - mean); }) / n;
    const T inverse = inverse_root(square + static_cast<T>(how.epsilon));
    for (std::size_t k = 0; k < length; ++k) to[r * length + k] = (x[k] - mean) * inverse;
    if (means) means->push_back(mean);
    if (inverses) inverses->push_back(inverse);
  }
}

/// Elementwise scale and bias, broadcast from the right.
template <class T>
Status scale_and_shift(KernelCall& call, std::span<T> to, const Shape& shape, const Tensor* scale,
                       const Tensor* bias) {
  for (const Tensor* t : {scale, bias}) {
    if (!t) continue;
    if (broadcast_shapes({t->shape, shape}) != std::optional(shape))
      return call.bad("a scale or bias that does not fit");
    const As<T> numbers(*t);
    const Shape* shapes[] = {&t->shape};
    BroadcastPlan(shape, shapes)
        .each_row([&](std::size_t first, std::size_t n, const auto& offset, const auto& step) {
          for (std::size_t i = 0; i < n; ++i) {
            const T v = numbers[offset[0] + i * step[0]];
            to[first + i] = t == scale ? to[first + i] * v : to[first + i] + v;
          }
        });
  }
  return {};
}

/// LayerNormalization and RMSNormalization: rows from the axis on.
Status layer_norm(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const bool centered = call.node.op == "LayerNormalization";
  const auto axis = normal_axis(call.attrs().integer("axis", -1), x.shape.size());
  if (!axis) return call.bad("an axis outside the tensor");
  const std::span<const std::int64_t> dims(x.shape);
  const std::size_t rows = at(product(dims.first(*axis))), length = at(product(dims.subspan(*axis)));
  Shape small = x.shape;
  std::fill(small.begin() + static_cast<std::ptrdiff_t>(*axis), small.end(), 1);
  const RowNorm how{.centered = centered, .epsilon = call.attrs().number("epsilon", 1e-5)};
  return with_floats(call, x.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const As<T> from(x);
    std::vector<T> means, inverses;
    Status fits;
    auto done = give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      normalize_rows<T>(call, from.data(), to.data(), rows, length, how, &means, &inverses);
      fits = scale_and_shift<T>(call, to, x.shape, call.has(1) ? &call.in(1) : nullptr,
                                centered && call.has(2) ? &call.in(2) : nullptr);
    });
    if (!done || !fits) return done ? fits : done;
    for (std::size_t i = 1; i < 3; ++i) {
      if (!onnx::wants(call, i)) continue;
      const std::vector<T>& numbers = i == 1 && centered ? means : inverses;
      if (auto ok = give_numbers<T>(
              call, i, small,
              [&](std::span<T> to) { std::copy(numbers.begin(), numbers.end(), to.begin()); });
          !ok)
        return ok;
    }
    return {};
  });
}

/// com.microsoft: the sum of two operands (and a bias), normalized.
Status skip_norm(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor &x = call.in(0), &skip = call.in(1);
  const bool centered = call.node.op == "com.microsoft.SkipLayerNormalization";
  if (x.rank() < 1 || broadcast_shapes({skip.shape, x.shape}) != std::optional(x.shape))
    return call.bad("a skip that does not fit");
  const std::size_t length = at(x.shape.back()), rows = length ? x.size() / length : 0;
  const Tensor *beta = centered && call.has(3) ? &call.in(3) : nullptr,
               *bias = call.has(centered ? 4 : 3) ? &call.in(centered ? 4 : 3) : nullptr;
  const RowNorm how{.centered = centered, .epsilon = call.attrs().number("epsilon", 1e-12)};
  Shape small = x.shape;
  small.back() = 1;
  return with_floats(call, x.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const As<T> from(x);
    std::vector<T> sum(from.span().begin(), from.span().end()), means, inverses;
    if (auto ok = scale_and_shift<T>(call, sum, x.shape, nullptr, &skip); !ok) return ok;
    if (auto ok = scale_and_shift<T>(call, sum, x.shape, nullptr, bias); !ok) return ok;
    Status fits;
    auto done = give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      normalize_rows<T>(call, sum.data(), to.data(), rows, length, how, &means, &inverses);
      fits = scale_and_shift<T>(call, to, x.shape, &call.in(2), beta);
    });
    if (!done || !fits) return done ? fits : done;
    for (std::size_t i = 1; i < 4; ++i) {
      if (!onnx::wants(call, i)) continue;
      const std::vector<T>& numbers = i == 1 ? means : i == 2 ? inverses : sum;
      if (auto ok = give_numbers<T>(
              call, i, i == 3 ? x.shape : small,
              [&](std::span<T> to) { std::copy(numbers.begin(), numbers.end(), to.begin()); });
          !ok)
        return ok;
    }
    return {};
  });
}

/// Groups of channels of one image: InstanceNormalization has one a channel.
Status group_norm(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.rank() < 2) return call.bad("expected rank 2 or more");
  const bool instance = call.node.op == "InstanceNormalization";
  const std::int64_t channels = x.shape[1],
                     groups = instance ? channels : call.attrs().integer("num_groups", 1);
  if (groups < 1 || channels % groups) return call.bad("groups that do not fit");
  // Before opset 21 a group has one scale, from then on a channel.
  const std::int64_t entries_wanted = !instance && call.node.version < 21 ? groups : channels;
  for (std::size_t i = 1; i < 3; ++i)
    if (static_cast<std::int64_t>(call.in(i).size()) != entries_wanted)
      return call.bad("a scale or bias that does not fit");
  const std::size_t inner = at(product(std::span<const std::int64_t>(x.shape).subspan(2)));
  const std::size_t rows = at(x.shape[0] * groups), length = rows ? x.size() / rows : 0;
  const std::size_t each = inner * at(channels / entries_wanted);
  const RowNorm how{.epsilon = call.attrs().number("epsilon", 1e-5)};
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x), scale(call.in(1)), bias(call.in(2));
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      normalize_rows<T>(call, from.data(), to.data(), rows, length, how, nullptr, nullptr);
      for (std::size_t i = 0; i < to.size(); ++i) {
        const std::size_t k = i / each % at(entries_wanted);
        to[i] = to[i] * scale[k] + bias[k];
      }
    });
  });
}

Status lrn(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const std::int64_t size = call.attrs().integer("size", 1);
  if (x.rank() < 2 || size < 1) return call.bad("expected rank 2 or more and a size");
  const double alpha = call.attrs().number("alpha", 1e-4), beta = call.attrs().number("beta", 0.75),
               bias = call.attrs().number("bias", 1);
  const AxisRows rows = rows_along(x.shape, 1);
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      ModeSum sum(call, false);
      each_row_along(rows, [&](std::size_t, std::size_t first) {
        const auto n = static_cast<std::int64_t>(rows.length);
        for (std::int64_t c = 0; c < n; ++c) {
          const std::int64_t low = std::max<std::int64_t>(0, c - (size - 1) / 2),
                             high = std::min<std::int64_t>(n - 1, c + size / 2);
          const T square = sum.template of<T>(at(high - low + 1), [&](std::size_t k) {
            const T v = from[first + (at(low) + k) * rows.inner];
            return v * v;
          });
          const T base = static_cast<T>(bias) + static_cast<T>(alpha) / static_cast<T>(size) * square;
          const std::size_t p = first + at(c) * rows.inner;
          to[p] = from[p] / std::pow(base, static_cast<T>(beta));
        }
      });
    });
  });
}

Status lp_norm(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto axis = normal_axis(call.attrs().integer("axis", -1), x.shape.size());
  const std::int64_t p = call.attrs().integer("p", 2);
  if (!axis || (p != 1 && p != 2))
    return call.bad("an axis outside the tensor, or another norm than 1 and 2");
  const AxisRows rows = rows_along(x.shape, *axis);
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      ModeSum sum(call, false);
      each_row_along(rows, [&](std::size_t, std::size_t first) {
        T norm = sum.template of<T>(rows.length, [&](std::size_t k) {
          const T v = from[first + k * rows.inner];
          return p == 1 ? std::abs(v) : v * v;
        });
        if (p == 2) norm = std::sqrt(norm);
        for (std::size_t k = 0; k < rows.length; ++k) {
          const std::size_t q = first + k * rows.inner;
          to[q] = norm == T(0) ? T(0) : from[q] / norm;
        }
      });
    });
  });
}

Status mean_variance(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  auto axes = onnx::list_of(call, "axes", 99);
  if (!axes) axes = onnx::Numbers{0, 2, 3};
  const auto marked = onnx::marked_axes(axes, x.shape.size());
  if (!marked) return call.bad("an axis outside the tensor");
  const Reduction r = reduction_over(x.shape, *marked, true);
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      ModeSum sum(call, true);
      const T n = static_cast<T>(r.length());
      each_result(r, [&](std::size_t, std::int64_t first) {
        const auto value = [&](std::size_t k) { return from[at(first + r.offsets[k])]; };
        const T mean = sum.template of<T>(r.length(), value) / n;
        const T square =
            sum.template of<T>(r.length(), [&](std::size_t k) { return value(k) * value(k); }) / n;
        const T deviation = std::sqrt(std::max(square - mean * mean, T(0)));
        for (std::size_t k = 0; k < r.length(); ++k)
          to[at(first + r.offsets[k])] = (value(k) - mean) / (deviation + static_cast<T>(1e-9));
      });
    });
  });
}

constexpr KernelEntry entries[] = {
    {"BatchNormalization", batch_norm},
    {"GroupNormalization", group_norm},
    {"InstanceNormalization", group_norm},
    {"LRN", lrn},
    {"LayerNormalization", layer_norm},
    {"LpNormalization", lp_norm},
    {"MeanVarianceNormalization", mean_variance},
    {"RMSNormalization", layer_norm},
    {"SimplifiedLayerNormalization", layer_norm},
    {"com.microsoft.SkipLayerNormalization", skip_norm, 0, false, "com.microsoft"},
    {"com.microsoft.SkipSimplifiedLayerNormalization", skip_norm, 0, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_normalization_kernels() { return entries; }

}  // namespace md
