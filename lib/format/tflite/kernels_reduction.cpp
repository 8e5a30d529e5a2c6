// SUM, MEAN, REDUCE_*, CUMSUM, ARG_MAX, ARG_MIN.
#include <array>
#include <limits>

#include "lib/eval/primitives/quantized.h"
#include "lib/eval/primitives/reduction.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

Result<Reduction> reduction(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return tl::make_unexpected(ok.error());
  const Tensor& x = call.in(0);
  const auto axes = index_operand(call, 1);
  if (!axes) return call.bad("the axes are not integers");
  std::vector<bool> reduced(x.shape.size(), false);
  for (const std::int64_t a : *axes) {
    const auto axis = normal_axis(a, x.shape.size());
    if (!axis) return call.bad(fmt::format("axis {} is out of range for rank {}", a, x.rank()));
    reduced[*axis] = true;
  }
  return reduction_over(x.shape, reduced, call.attrs().flag("keep_dims"));
}

template <class T>
void sum_floats(KernelCall& call, const Tensor& x, const Reduction& r, Tensor& out, bool mean) {
  const auto from = x.data<T>();
  auto to = out.mutable_data<T>();
  ModeSum sum(call, mean);
  const T n = static_cast<T>(r.offsets.size());
  each_result(r, [&](std::size_t i, std::int64_t at) {
    const T s = sum.of<T>(r.offsets.size(),
                          [&](std::size_t k) { return from[static_cast<std::size_t>(at + r.offsets[k])]; });
    to[i] = mean ? s / n : s;
  });
}

template <class T>
void sum_quantized(const Tensor& x, const Reduction& r, Tensor& out, bool mean) {
  const Affine qi = affine(x), qo = affine(out);
  const auto from = x.data<T>();
  auto to = out.mutable_data<T>();
  const double count = mean ? static_cast<double>(r.offsets.size()) : 1.0;
  const Multiplier m = quantize_multiplier(static_cast<double>(qi.scale) /
                                           (static_cast<double>(qo.scale) * (count > 0 ? count : 1)));
  each_result(r, [&](std::size_t i, std::int64_t at) {
    std::int64_t s = 0;
    for (const std::int64_t o : r.offsets) s += from[static_cast<std::size_t>(at + o)] - qi.zero;
    to[i] = saturate_to<T>(rescale(saturate_to<std::int32_t>(s), m) + static_cast<std::int64_t>(qo.zero));
  });
}

Status sum_or_mean(KernelCall& call, bool mean) {
  const auto r = reduction(call);
  if (!r) return tl::make_unexpected(r.error());
  const Tensor& x = call.in(0);
  auto out = call.make_output(0, r->shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != x.store()) return call.bad("the result's type is not the operand's");
  if (x.store() == Store::f32)
    sum_floats<float>(call, x, *r, *out, mean);
  else if (x.store() == Store::f64)
    sum_floats<double>(call, x, *r, *out, mean);
  else {
    with_store(x.store(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (sizeof(T) <= 2)
        if (x.quantization) return sum_quantized<T>(x, *r, *out, mean);
      const auto from = x.data<T>();
      auto to = out->mutable_data<T>();
      each_result(*r, [&](std::size_t i, std::int64_t at) {
        std::int64_t s = 0;
        for (const std::int64_t o : r->offsets)
          s = plus(s, static_cast<std::int64_t>(from[static_cast<std::size_t>(at + o)]));
        to[i] = static_cast<T>(mean && !r->offsets.empty() ? s / static_cast<std::int64_t>(r->offsets.size())
                                                           : s);
      });
    });
  }
  call.outputs[0] = std::move(*out);
  return {};
}
Status sum(KernelCall& call) { return sum_or_mean(call, false); }
Status mean(KernelCall& call) { return sum_or_mean(call, true); }

template <class F>
Status fold(KernelCall& call) {
  const auto r = reduction(call);
  if (!r) return tl::make_unexpected(r.error());
  const Tensor& x = call.in(0);
  auto out = call.make_output(0, r->shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != x.store()) return call.bad("the result's type is not the operand's");
  if (x.quantization && out->quantization && *x.quantization != *out->quantization &&
      !(x.quantization->scale == out->quantization->scale &&
        x.quantization->zero_point == out->quantization->zero_point))
    return call.unsupported("with a result of another scale");
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    const auto from = x.data<T>();
    auto to = out->mutable_data<T>();
    each_result(*r, [&](std::size_t i, std::int64_t at) {
      T v = F::template start<T>();
      for (const std::int64_t o : r->offsets) v = F::of(v, from[static_cast<std::size_t>(at + o)]);
      to[i] = v;
    });
  });
  call.outputs[0] = std::move(*out);
  return {};
}

struct Max {
  template <class T>
  static T start() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  template <class T>
  static T of(T a, T b) {
    return a > b ? a : b;
  }
};
struct Min {
  template <class T>
  static T start() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
  template <class T>
  static T of(T a, T b) {
    return a < b ? a : b;
  }
};
struct Prod {
  template <class T>
  static T start() {
    return 1;
  }
  template <class T>
  static T of(T a, T b) {
    return times(a, b);
  }
};
struct Any {
  template <class T>
  static T start() {
    return 0;
  }
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a != T(0) || b != T(0));
  }
};
struct All {
  template <class T>
  static T start() {
    return 1;
  }
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a != T(0) && b != T(0));
  }
};

Status arg(KernelCall& call, bool max) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto at = index_operand(call, 1);
  const auto axis = at && at->size() == 1 ? normal_axis((*at)[0], x.shape.size()) : std::nullopt;
  if (!axis || x.shape[*axis] == 0) return call.bad("the axis is out of range or empty");
  Shape shape = x.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  auto out = call.make_output(0, shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->is_float()) return call.bad("the result is not an integer");
  const std::span<const std::int64_t> dims(x.shape);
  const std::int64_t outer = product(dims.first(*axis)), length = x.shape[*axis],
                     inner = product(dims.subspan(*axis + 1));
  std::vector<std::int64_t> best;
  best.reserve(out->size());
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    const auto from = x.data<T>();
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        std::int64_t pick = 0;
        const auto value = [&](std::int64_t k) {
          return from[static_cast<std::size_t>((o * length + k) * inner + i)];
        };
        for (std::int64_t k = 1; k < length; ++k)
          if (max ? value(k) > value(pick) : value(k) < value(pick)) pick = k;
        best.push_back(pick);
      }
  });
  call.outputs[0] = Tensor::of_integers(out->dtype, std::move(shape), best);
  return {};
}
Status arg_max(KernelCall& call) { return arg(call, true); }
Status arg_min(KernelCall& call) { return arg(call, false); }

Status cumsum(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto at = index_operand(call, 1);
  const auto axis = at && at->size() == 1 ? normal_axis((*at)[0], x.shape.size()) : std::nullopt;
  if (!axis) return call.bad("the axis is out of range");
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != x.store()) return call.bad("the result's type is not the operand's");
  const bool exclusive = call.attrs().flag("exclusive"), reverse = call.attrs().flag("reverse");
  const std::span<const std::int64_t> dims(x.shape);
  const std::int64_t outer = product(dims.first(*axis)), length = x.shape[*axis],
                     inner = product(dims.subspan(*axis + 1));
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    const auto from = x.data<T>();
    auto to = out->mutable_data<T>();
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        T s = 0;
        for (std::int64_t k = 0; k < length; ++k) {
          const auto p = static_cast<std::size_t>((o * length + (reverse ? length - 1 - k : k)) * inner + i);
          if (exclusive) to[p] = s;
          s = plus(s, from[p]);
          if constexpr (std::is_same_v<T, float>) {
            if (call.mode().sums_in_f16()) s = round_to_f16(s, call.mode().saturate);
            call.watch(static_cast<double>(s));
          }
          if (!exclusive) to[p] = s;
        }
      }
  });
  call.outputs[0] = std::move(*out);
  return {};
}

}  // namespace

std::span<const KernelEntry> reduction_kernels() {
  static const std::array rows = {
      KernelEntry{"SUM", sum},
      KernelEntry{"MEAN", mean},
      KernelEntry{"REDUCE_MAX", fold<Max>},
      KernelEntry{"REDUCE_MIN", fold<Min>},
      KernelEntry{"REDUCE_PROD", fold<Prod>},
      KernelEntry{"REDUCE_ANY", fold<Any>},
      KernelEntry{"REDUCE_ALL", fold<All>},
      KernelEntry{"ARG_MAX", arg_max},
      KernelEntry{"ARG_MIN", arg_min},
      KernelEntry{"CUMSUM", cumsum},
  };
  return rows;
}

}  // namespace md
