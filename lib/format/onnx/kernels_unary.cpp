// Kernels of elementwise operators on one operand, and casts.
#include <cmath>
#include <cstring>

#include "lib/eval/primitives/functions.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::each;
using onnx::each_real;
using onnx::real;

template <class T>
T as(double v) {
  return static_cast<T>(v);
}

Status abs(KernelCall& call) {
  return each(call, [](auto v) {
    if constexpr (std::is_integral_v<decltype(v)>)
      return v < 0 ? minus(decltype(v)(0), v) : v;
    else
      return std::abs(v);
  });
}
Status neg(KernelCall& call) {
  return each(call, [](auto v) {
    if constexpr (std::is_integral_v<decltype(v)>)
      return minus(decltype(v)(0), v);
    else
      return -v;
  });
}
Status sign(KernelCall& call) {
  return each(call, [](auto v) {
    using T = decltype(v);
    return is_nan(v) ? v : v > T(0) ? T(1) : v < T(0) ? T(-1) : T(0);
  });
}
Status relu(KernelCall& call) {
  return each(call, [](auto v) { return v < decltype(v)(0) ? decltype(v)(0) : v; });
}

#define MD_REAL(NAME, EXPRESSION)                              \
  Status NAME(KernelCall& call) {                              \
    return each_real(call, [](auto v) { return EXPRESSION; }); \
  }
MD_REAL(ceil_, std::ceil(v))
MD_REAL(floor_, std::floor(v))
MD_REAL(round_, std::nearbyint(v))
MD_REAL(exp_, std::exp(v))
MD_REAL(log_, std::log(v))
MD_REAL(sqrt_, std::sqrt(v))
MD_REAL(reciprocal, decltype(v)(1) / v)
MD_REAL(erf_, std::erf(v))
MD_REAL(sin_, std::sin(v))
MD_REAL(cos_, std::cos(v))
MD_REAL(tan_, std::tan(v))
MD_REAL(asin_, std::asin(v))
MD_REAL(acos_, std::acos(v))
MD_REAL(atan_, std::atan(v))
MD_REAL(sinh_, std::sinh(v))
MD_REAL(cosh_, std::cosh(v))
MD_REAL(tanh_, std::tanh(v))
MD_REAL(asinh_, std::asinh(v))
MD_REAL(acosh_, std::acosh(v))
MD_REAL(atanh_, std::atanh(v))
MD_REAL(sigmoid, logistic(v))
MD_REAL(softsign, v / (decltype(v)(1) + std::abs(v)))
/// Without overflow of the exponential.
MD_REAL(softplus, std::max(v, decltype(v)(0)) + std::log1p(std::exp(-std::abs(v))))
MD_REAL(mish, v* std::tanh(std::max(v, decltype(v)(0)) + std::log1p(std::exp(-std::abs(v)))))
#undef MD_REAL

Status hard_swish(KernelCall& call) {
  return each_real(call, [](auto v) {
    using T = decltype(v);
    return v * std::max(T(0), std::min(T(1), v / T(6) + T(0.5)));
  });
}
Status hard_sigmoid(KernelCall& call) {
  const double a = real(call, "alpha", 0.2), b = real(call, "beta", 0.5);
  return each_real(call, [=](auto v) {
    using T = decltype(v);
    return clamped(as<T>(a) * v + as<T>(b), T(0), T(1));
  });
}
Status elu(KernelCall& call) {
  const double a = real(call, "alpha", 1);
  return each_real(call, [=](auto v) { return v < 0 ? as<decltype(v)>(a) * std::expm1(v) : v; });
}
Status celu(KernelCall& call) {
  const double a = real(call, "alpha", 1);
  return each_real(call, [=](auto v) {
    using T = decltype(v);
    return std::max(T(0), v) + std::min(T(0), as<T>(a) * std::expm1(v / as<T>(a)));
  });
}
Status selu(KernelCall& call) {
  const bool old = call.node.version < 6;
  const double a = real(call, "alpha", old ? 1.6732 : 1.67326319217681884765625),
               g = real(call, "gamma", old ? 1.0507 : 1.05070102214813232421875);
  return each_real(call, [=](auto v) {
    using T = decltype(v);
    return as<T>(g) * (v > T(0) ? v : as<T>(a) * std::expm1(v));
  });
}
Status leaky_relu(KernelCall& call) {
  const double a = real(call, "alpha", 0.01);
  return each_real(call, [=](auto v) { return v < 0 ? as<decltype(v)>(a) * v : v; });
}
Status thresholded_relu(KernelCall& call) {
  const double a = real(call, "alpha", 1);
  return each_real(call, [=](auto v) { return v > as<decltype(v)>(a) ? v : is_nan(v) ? v : decltype(v)(0); });
}
Status shrink(KernelCall& call) {
  const double l = call.attrs().number("lambd", 0.5), b = call.attrs().number("bias", 0);
  return each_real(call, [=](auto v) {
    using T = decltype(v);
    return v < as<T>(-l) ? v + as<T>(b) : v > as<T>(l) ? v - as<T>(b) : T(0);
  });
}
Status gelu(KernelCall& call) {
  if (call.attrs().text("approximate", "none") == "tanh")
    return each_real(call, [](auto v) { return gelu_by_tanh(v); });
  return each_real(call, [](auto v) { return gelu_by_erf(v); });
}
Status swish(KernelCall& call) {
  const double a = real(call, "alpha", call.node.op == "Swish" ? 1 : 1.702);
  return each_real(call, [=](auto v) { return v * logistic(as<decltype(v)>(a) * v); });
}

Status identity(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  call.outputs[0] = call.in(0);
  return {};
}

/// Integers are whole already (old exporters write Floor of them).
template <Status (*round)(KernelCall&)>
Status whole(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  return is_float(call.in(0).dtype) ? round(call) : identity(call);
}

/// Training mode is random: what a run gives nobody can foretell.
Status dropout(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const bool training = call.node.version >= 12
                            ? call.has(2) && call.in(2).size() == 1 && call.in(2).number(0) != 0
                            : call.node.version < 7 && !call.attrs().flag("is_test");
  const double ratio =
      call.node.version >= 12 ? onnx::number_of(call, 1).value_or(0.5) : call.attrs().number("ratio", 0.5);
  if (training && ratio != 0) return call.unsupported("in training mode");
  call.outputs[0] = call.in(0);
  if (!onnx::wants(call, 1)) return {};
  auto mask = call.make_output(1, call.in(0).shape);
  if (!mask) return tl::make_unexpected(mask.error());
  const std::vector<std::int64_t> ones(mask->size(), 1);
  cast_numbers(std::span<const std::int64_t>(ones), *mask);
  call.outputs[1] = std::move(*mask);
  return {};
}

Status clip(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const bool old = call.node.version < 11;
  const auto bound = [&](std::size_t operand, std::string_view name) -> std::optional<double> {
    // an attribute that another version took as an operand is meant all the same
    if (call.attrs().find(name)) return real(call, name, 0);
    return old ? std::nullopt : onnx::number_of(call, operand);
  };
  for (std::size_t i = 1; i < 3; ++i)
    if (!old && call.has(i) && call.in(i).size() != 1) return call.bad("a bound of more than one number");
  const auto low = bound(1, "min"), high = bound(2, "max");
  const bool exact =
      !old && !is_float(call.in(0).dtype) && !call.attrs().find("min") && !call.attrs().find("max");
  const std::int64_t least = exact && low ? call.in(1).integer(0) : 0,
                     most = exact && high ? call.in(2).integer(0) : 0;
  return each(call, [&](auto v) {
    using T = decltype(v);
    if constexpr (std::is_integral_v<T>) {
      if (low) v = std::max<T>(v, exact ? least : as<T>(*low));
      if (high) v = std::min<T>(v, exact ? most : as<T>(*high));
    } else {
      if (low && v < as<T>(*low)) v = as<T>(*low);
      if (high && v > as<T>(*high)) v = as<T>(*high);
    }
    return v;
  });
}

Status not_(KernelCall& call) {
  return each(call, [](auto v) { return decltype(v)(v == 0); });
}
Status bitwise_not(KernelCall& call) {
  return each(call, [](auto v) {
    if constexpr (std::is_integral_v<decltype(v)>)
      return ~v;
    else
      return v;
  });
}

Status marks(KernelCall& call, bool (*mark)(double v, bool negative, bool positive)) {
  if (auto ok = call.need(1); !ok) return ok;
  const bool negative = call.attrs().flag("detect_negative", true),
             positive = call.attrs().flag("detect_positive", true);
  onnx::Numbers out;
  for (const double v : call.in(0).numbers()) out.push_back(mark(v, negative, positive));
  return onnx::give_integers(call, 0, call.in(0).shape, out);
}
Status is_nan_(KernelCall& call) {
  return marks(call, [](double v, bool, bool) { return std::isnan(v); });
}
Status is_inf(KernelCall& call) {
  return marks(call, [](double v, bool n, bool p) { return std::isinf(v) && (v < 0 ? n : p); });
}

// --- casts

/// To powers of two: up, down or to the nearest, as the attribute says.
double power_of_two(double v, std::string_view mode, bool saturate) {
  if (std::isnan(v) || std::isinf(v) || v < 0 || mode == "nearest")
    return round_to_small_float(DType::f8e8m0, std::abs(v), saturate);
  if (v <= 0x1p-127) return 0x1p-127;
  int exponent = 0;
  const double half = std::frexp(v, &exponent);
  const bool exact = half == 0.5;
  const double rounded = std::ldexp(1.0, mode == "down" || exact ? exponent - 1 : exponent);
  return rounded > 0x1p127 ? (saturate ? 0x1p127 : std::nan("")) : rounded;
}

Status cast(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->lanes() != x.lanes()) return call.unsupported("between real and complex types");
  const DType to = out->dtype;
  if (is_small_float(to)) {
    const bool saturate = call.attrs().flag("saturate", true);
    const std::string_view mode = call.attrs().text("round_mode", "up");
    std::vector<double> numbers = x.numbers();
    for (double& v : numbers)
      v = to == DType::f8e8m0 ? power_of_two(v, mode, saturate) : round_to_small_float(to, v, saturate);
    cast_numbers(std::span<const double>(numbers), *out);
  } else {
    cast_elements(x, *out);
  }
  call.outputs[0] = std::move(*out);
  return {};
}

Status bit_cast(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const DType to = call.out_value().dtype;
  if (bit_width(to) != bit_width(x.dtype) || call.wide()) return call.unsupported("between these types");
  Value value;
  value.dtype = to;
  value.shape = x.shape;
  value.constant = Constant::own(constant_bytes(x));
  auto out = Tensor::constant(value);
  if (!out) return tl::make_unexpected(out.error());
  call.outputs[0] = std::move(*out);
  return {};
}

constexpr KernelEntry entries[] = {
    {"Abs", abs},
    {"Acos", acos_},
    {"Acosh", acosh_},
    {"Asin", asin_},
    {"Asinh", asinh_},
    {"Atan", atan_},
    {"Atanh", atanh_},
    {"BitCast", bit_cast},
    {"BitwiseNot", bitwise_not},
    {"Cast", cast},
    {"CastLike", cast},
    {"Ceil", whole<ceil_>},
    {"Celu", celu},
    {"Clip", clip},
    {"Cos", cos_},
    {"Cosh", cosh_},
    {"Dropout", dropout, 1},
    {"Elu", elu},
    {"Erf", erf_},
    {"Exp", exp_},
    {"Floor", whole<floor_>},
    {"Gelu", gelu},
    {"com.microsoft.Gelu", gelu, 0, false, "com.microsoft"},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", hard_swish},
    {"Identity", identity, 1},
    {"IsInf", is_inf},
    {"IsNaN", is_nan_},
    {"LeakyRelu", leaky_relu},
    {"Log", log_},
    {"Mish", mish},
    {"Neg", neg},
    {"Not", not_},
    {"Reciprocal", reciprocal},
    {"Relu", relu},
    {"Round", whole<round_>},
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid", sigmoid},
    {"Sign", sign},
    {"Sin", sin_},
    {"Sinh", sinh_},
    {"Softplus", softplus},
    {"Softsign", softsign},
    {"Sqrt", sqrt_},
    {"Swish", swish},
    {"Tan", tan_},
    {"Tanh", tanh_},
    {"ThresholdedRelu", thresholded_relu},
    {"com.microsoft.QuickGelu", swish, 0, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_unary_kernels() { return entries; }

}  // namespace md
