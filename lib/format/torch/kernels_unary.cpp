// Kernels of aten operators on one operand, element by element, in the type of the element.
#include <cmath>
#include <limits>
#include <numbers>

#include "lib/eval/primitives/functions.h"
#include "lib/eval/primitives/typed.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// out = f(x). Whole numbers go to floats where the result is one; else `whole` computes with them.
template <class F, class G>
Status map_tensor(KernelCall& call, F&& f, G&& whole) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1) return call.unsupported("on complex values");
  const DType out = call.out_value().dtype;
  if (!is_float(out)) {
    if (x.is_float()) return call.unsupported(fmt::format("from {} to {}", name(x.dtype), name(out)));
    const As<std::int64_t> from(x);
    return give_numbers<std::int64_t>(call, 0, x.shape, [&](std::span<std::int64_t> to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = whole(from[i]);
    });
  }
  return with_floats(call, x.is_float() ? x.dtype : out, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = f(from[i]);
    });
  });
}
using I = std::int64_t;

template <class F>
Status map_floats(KernelCall& call, F&& f) {
  return map_tensor(call, f, [](I v) { return v; });
}

/// One function, in every arithmetic.
template <class F>
Status map_numbers(KernelCall& call, F&& f) {
  return map_tensor(call, f, f);
}

/// Marks of what f finds true.
template <class F>
Status mark(KernelCall& call, F&& f) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1) return call.unsupported("on complex values");
  return with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<I>(call, 0, x.shape, [&](std::span<I> to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = f(from[i]) ? 1 : 0;
    });
  });
}

#define MD_FLOAT(Name, expression)       \
  Status Name(KernelCall& call) {        \
    return map_floats(call, [](auto v) { \
      using T = decltype(v);             \
      return static_cast<T>(expression); \
    });                                  \
  }
MD_FLOAT(log_, std::log(v))
MD_FLOAT(log2_, std::log2(v))
MD_FLOAT(log10_, std::log10(v))
MD_FLOAT(log1p_, std::log1p(v))
MD_FLOAT(exp2_, std::exp2(v))
MD_FLOAT(expm1_, std::expm1(v))
MD_FLOAT(sin_, std::sin(v))
MD_FLOAT(cos_, std::cos(v))
MD_FLOAT(tan_, std::tan(v))
MD_FLOAT(asin_, std::asin(v))
MD_FLOAT(acos_, std::acos(v))
MD_FLOAT(atan_, std::atan(v))
MD_FLOAT(sinh_, std::sinh(v))
MD_FLOAT(cosh_, std::cosh(v))
MD_FLOAT(tanh_, std::tanh(v))
MD_FLOAT(asinh_, std::asinh(v))
MD_FLOAT(acosh_, std::acosh(v))
MD_FLOAT(atanh_, std::atanh(v))
MD_FLOAT(sqrt_, std::sqrt(v))
MD_FLOAT(rsqrt_, T(1) / std::sqrt(v))
MD_FLOAT(sigmoid, logistic(v))
MD_FLOAT(silu, v / (T(1) + std::exp(-v)))
MD_FLOAT(mish, v* std::tanh(std::log1p(std::exp(v))))
MD_FLOAT(erf_, std::erf(v))
MD_FLOAT(erfc_, std::erfc(v))
MD_FLOAT(floor_, std::floor(v))
MD_FLOAT(ceil_, std::ceil(v))
MD_FLOAT(trunc_, std::trunc(v))
MD_FLOAT(frac_, v - std::trunc(v))
MD_FLOAT(hardswish, v* relu6_of_plus_3(v) / T(6))
MD_FLOAT(hardsigmoid, relu6_of_plus_3(v) / T(6))
MD_FLOAT(log_sigmoid, std::min(v, T(0)) - std::log1p(std::exp(-std::abs(v))))
#undef MD_FLOAT

bool complex_operand(const KernelCall& call) { return call.has(0) && call.in(0).lanes() == 2; }

Status exp_(KernelCall& call) {
  if (complex_operand(call)) return aten_complex_unary(call, 'e');
  return map_floats(call, [](auto v) { return std::exp(v); });
}
Status reciprocal(KernelCall& call) {
  if (complex_operand(call)) return aten_complex_unary(call, '1');
  return map_floats(call, [](auto v) { return decltype(v)(1) / v; });
}
Status neg(KernelCall& call) {
  if (complex_operand(call)) return aten_complex_unary(call, '-');
  return map_tensor(
      call, [](auto v) { return -v; }, [](I v) { return minus(I{0}, v); });
}
Status abs_(KernelCall& call) {
  if (complex_operand(call)) return aten_complex_unary(call, '|');
  return map_tensor(
      call, [](auto v) { return std::abs(v); }, [](I v) { return v < 0 ? minus(I{0}, v) : v; });
}
Status square(KernelCall& call) {
  if (complex_operand(call)) return aten_complex_unary(call, '2');
  return map_numbers(call, [](auto v) { return times(v, v); });
}
Status relu(KernelCall& call) {
  return map_numbers(call, [](auto v) { return v < decltype(v)(0) ? decltype(v)(0) : v; });
}
Status sign(KernelCall& call) {
  return map_numbers(call, [](auto v) {
    using T = decltype(v);
    return v > T(0) ? T(1) : v < T(0) ? T(-1) : v != v ? T(0) : v;
  });
}
Status gelu(KernelCall& call) {
  if (call.attrs().text("approximate") == "tanh")
    return map_floats(call, [](auto v) { return gelu_by_tanh(v); });
  return map_floats(call, [](auto v) { return gelu_by_erf(v); });
}
Status round_(KernelCall& call) {
  const std::int64_t decimals = call.attrs().integer("decimals", 0);
  const double scale = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  return map_floats(call, [=](auto v) {
    using T = decltype(v);
    if (decimals == 0) return std::nearbyint(v);
    const T ten = static_cast<T>(scale);
    return decimals > 0 ? std::nearbyint(v * ten) / ten : std::nearbyint(v / ten) * ten;
  });
}

/// hardtanh, relu6, clamp, clamp_min, clamp_max: whole bounds for whole numbers.
Status between(KernelCall& call) {
  AtenCall c(call);
  const std::string base = aten_base(call.node.op);
  const double inf = std::numeric_limits<double>::infinity();
  double low = -inf, high = inf;
  if (base == "aten.hardtanh") low = c.number("min_val", -1), high = c.number("max_val", 1);
  if (base == "aten.relu6") low = 0, high = 6;
  if (base == "aten.clamp" || base == "aten.clamp_min") low = c.number("min", -inf);
  if (base == "aten.clamp" || base == "aten.clamp_max") high = c.number("max", inf);
  const auto whole_bound = [](double v, I otherwise) {
    return std::abs(v) < 9.2e18 ? static_cast<I>(v) : otherwise;
  };
  const I low_whole = whole_bound(low, std::numeric_limits<I>::min()),
          high_whole = whole_bound(high, std::numeric_limits<I>::max());
  return map_tensor(
      call,
      [=](auto v) {
        using T = decltype(v);
        return clamped(v, static_cast<T>(low), static_cast<T>(high));
      },
      [=](I v) { return clamped(v, low_whole, high_whole); });
}
Status leaky_relu(KernelCall& call) {
  const double slope = AtenCall(call).number("negative_slope", 0.01);
  return map_floats(call,
                    [=](auto v) { return v > decltype(v)(0) ? v : v * static_cast<decltype(v)>(slope); });
}
Status elu(KernelCall& call) {
  AtenCall c(call);
  const bool selu = aten_base(call.node.op) == "aten.selu";
  const double alpha = selu ? 1.6732632423543772 : c.number("alpha", 1),
               scale = selu ? 1.0507009873554805 : c.number("scale", 1), inner = c.number("input_scale", 1);
  return map_floats(call, [=](auto v) {
    using T = decltype(v);
    if (v > T(0)) return v * static_cast<T>(scale);
    return std::expm1(v * static_cast<T>(inner)) * static_cast<T>(alpha * scale);
  });
}
Status celu(KernelCall& call) {
  const double alpha = AtenCall(call).number("alpha", 1);
  return map_floats(call, [=](auto v) {
    using T = decltype(v);
    return v > T(0) ? v : std::expm1(v / static_cast<T>(alpha)) * static_cast<T>(alpha);
  });
}
Status softplus(KernelCall& call) {
  AtenCall c(call);
  const double beta = c.number("beta", 1), threshold = c.number("threshold", 20);
  return map_floats(call, [=](auto v) {
    using T = decltype(v);
    const T b = static_cast<T>(beta);
    return v * b > static_cast<T>(threshold) ? v : std::log1p(std::exp(v * b)) / b;
  });
}
Status threshold(KernelCall& call) {
  AtenCall c(call);
  const double limit = c.number("threshold"), value = c.number("value");
  return map_numbers(call, [=](auto v) {
    using T = decltype(v);
    return v <= static_cast<T>(limit) ? static_cast<T>(value) : v;
  });
}
Status hardshrink(KernelCall& call) {
  const double lambda = AtenCall(call).number("lambd", 0.5);
  return map_floats(call, [=](auto v) {
    using T = decltype(v);
    const T l = static_cast<T>(lambda);
    return v >= -l && v <= l ? T(0) : v;
  });
}
Status logit(KernelCall& call) {
  AtenCall c(call);
  const bool bounded = c.given("eps");
  const double eps = c.number("eps");
  return map_floats(call, [=](auto v) {
    using T = decltype(v);
    const T e = static_cast<T>(eps);
    const T p = bounded ? clamped(v, e, T(1) - e) : v;
    return std::log(p / (T(1) - p));
  });
}
Status nan_to_num(KernelCall& call) {
  AtenCall c(call);
  const double nan = c.number("nan", 0), inf = std::numeric_limits<double>::infinity(),
               high = c.number("posinf", inf), low = c.number("neginf", -inf);
  const DType type = call.out_value().dtype;
  const double most = type == DType::f16 ? 65504 : type == DType::bf16 ? 0x1.FEp127 : 0;
  return map_floats(call, [=](auto v) {
    using T = decltype(v);
    const T largest = most > 0 ? static_cast<T>(most) : std::numeric_limits<T>::max();
    if (std::isnan(v)) return static_cast<T>(nan);
    if (std::isinf(v) && v > T(0)) return std::isinf(high) ? largest : static_cast<T>(high);
    if (std::isinf(v)) return std::isinf(low) ? -largest : static_cast<T>(low);
    return v;
  });
}
Status bitwise_not(KernelCall& call) {
  const bool marks = call.out_value().dtype == DType::boolean;
  return map_tensor(
      call, [](auto v) { return v; }, [=](I v) { return marks ? I{v == 0} : ~v; });
}

Status logical_not(KernelCall& call) {
  return mark(call, [](auto v) { return v == decltype(v)(0); });
}
Status isnan_(KernelCall& call) {
  return mark(call, [](auto v) { return v != v; });
}
Status isinf_(KernelCall& call) {
  return mark(call, [](auto v) { return std::isinf(static_cast<double>(v)); });
}
Status isfinite_(KernelCall& call) {
  return mark(call, [](auto v) { return std::isfinite(static_cast<double>(v)); });
}
Status signbit_(KernelCall& call) {
  return mark(call, [](auto v) { return std::signbit(static_cast<double>(v)); });
}

constexpr KernelEntry entries[] = {
    {"aten.neg.default", neg},
    {"aten.neg_.default", neg},
    {"aten.abs.default", abs_},
    {"aten.exp.default", exp_},
    {"aten.exp_.default", exp_},
    {"aten.exp2.default", exp2_},
    {"aten.expm1.default", expm1_},
    {"aten.log.default", log_},
    {"aten.log2.default", log2_},
    {"aten.log10.default", log10_},
    {"aten.log1p.default", log1p_},
    {"aten.sin.default", sin_},
    {"aten.cos.default", cos_},
    {"aten.tan.default", tan_},
    {"aten.asin.default", asin_},
    {"aten.acos.default", acos_},
    {"aten.atan.default", atan_},
    {"aten.sinh.default", sinh_},
    {"aten.cosh.default", cosh_},
    {"aten.tanh.default", tanh_},
    {"aten.tanh_.default", tanh_},
    {"aten.asinh.default", asinh_},
    {"aten.acosh.default", acosh_},
    {"aten.atanh.default", atanh_},
    {"aten.sqrt.default", sqrt_},
    {"aten.rsqrt.default", rsqrt_},
    {"aten.reciprocal.default", reciprocal},
    {"aten.square.default", square},
    {"aten.relu.default", relu},
    {"aten.relu_.default", relu},
    {"aten.sigmoid.default", sigmoid},
    {"aten.sigmoid_.default", sigmoid},
    {"aten.log_sigmoid.default", log_sigmoid},
    {"aten.silu.default", silu},
    {"aten.silu_.default", silu},
    {"aten.mish.default", mish},
    {"aten.erf.default", erf_},
    {"aten.erfc.default", erfc_},
    {"aten.floor.default", floor_},
    {"aten.ceil.default", ceil_},
    {"aten.round.default", round_},
    {"aten.round.decimals", round_},
    {"aten.trunc.default", trunc_},
    {"aten.fix.default", trunc_},
    {"aten.frac.default", frac_},
    {"aten.sign.default", sign},
    {"aten.sgn.default", sign},
    {"aten.gelu.default", gelu},
    {"aten.clamp.default", between},
    {"aten.clamp_.default", between},
    {"aten.clamp_min.default", between},
    {"aten.clamp_max.default", between},
    {"aten.hardtanh.default", between},
    {"aten.hardtanh_.default", between},
    {"aten.relu6.default", between},
    {"aten.leaky_relu.default", leaky_relu},
    {"aten.leaky_relu_.default", leaky_relu},
    {"aten.elu.default", elu},
    {"aten.elu_.default", elu},
    {"aten.selu.default", elu},
    {"aten.celu.default", celu},
    {"aten.softplus.default", softplus},
    {"aten.threshold.default", threshold},
    {"aten.hardshrink.default", hardshrink},
    {"aten.logit.default", logit},
    {"aten.hardswish.default", hardswish},
    {"aten.hardswish_.default", hardswish},
    {"aten.hardsigmoid.default", hardsigmoid},
    {"aten.hardsigmoid_.default", hardsigmoid},
    {"aten.nan_to_num.default", nan_to_num},
    {"aten.bitwise_not.default", bitwise_not},
    {"aten.logical_not.default", logical_not},
    {"aten.isnan.default", isnan_},
    {"aten.isinf.default", isinf_},
    {"aten.isfinite.default", isfinite_},
    {"aten.signbit.default", signbit_},
};

}  // namespace

std::span<const KernelEntry> aten_unary_kernels() { return entries; }

}  // namespace md
