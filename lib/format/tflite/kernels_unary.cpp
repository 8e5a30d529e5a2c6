// One operand, element by element.
#include <array>
#include <limits>

#include "lib/eval/primitives/functions.h"
#include "lib/eval/primitives/quantized.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

template <class T, class F>
void map(const Tensor& in, Tensor& out, F f) {
  const auto from = in.data<T>();
  auto to = out.mutable_data<T>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = f(from[i]);
}

/// F::of(T) for floats; quantized operands through their real values, as the runtime's tables are made.
template <class F>
Status float_unary(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (x.store() == Store::f32 && out->store() == Store::f32) {
    map<float>(x, *out, [&](float v) { return F::of(v, call.attrs()); });
  } else if (x.store() == Store::f64 && out->store() == Store::f64) {
    map<double>(x, *out, [&](double v) { return F::of(v, call.attrs()); });
  } else if (x.quantization && out->quantization && x.store() == out->store()) {
    if (auto ok = quantized_unary(call, x, *out, [&](float v) { return F::of(v, call.attrs()); }); !ok)
      return ok;
  } else {
    return call.unsupported(fmt::format("on {}", name(x.dtype)));
  }
  call.outputs[0] = std::move(*out);
  return {};
}

/// The same, with an exact form for unquantized integers.
template <class F>
Status any_unary(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.is_float() || x.quantization) return float_unary<F>(call);
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != x.store())
    return call.unsupported(fmt::format("from {} to {}", name(x.dtype), name(out->dtype)));
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    map<T>(x, *out, [&](T v) { return F::of(v, call.attrs()); });
  });
  call.outputs[0] = std::move(*out);
  return {};
}

#define MD_UNARY(Name, expression)          \
  struct Name {                             \
    template <class T>                      \
    static T of(T v, const Attributes& a) { \
      (void)a;                              \
      return static_cast<T>(expression);    \
    }                                       \
  };
MD_UNARY(Exp, std::exp(v))
MD_UNARY(Log, std::log(v))
MD_UNARY(Sqrt, std::sqrt(v))
MD_UNARY(Rsqrt, T(1) / std::sqrt(v))
MD_UNARY(Sin, std::sin(v))
MD_UNARY(Cos, std::cos(v))
MD_UNARY(Tanh, std::tanh(v))
MD_UNARY(Logistic, logistic(v))
MD_UNARY(Floor, std::floor(v))
MD_UNARY(Ceil, std::ceil(v))
MD_UNARY(Round, std::nearbyint(v))
MD_UNARY(Square, times(v, v))
MD_UNARY(Relu, v < T(0) ? T(0) : v)
MD_UNARY(Relu6, v<T(0) ? T(0) : v> T(6) ? T(6) : v)
MD_UNARY(ReluN1To1, v<T(-1) ? T(-1) : v> T(1) ? T(1) : v)
MD_UNARY(Relu0To1, v<T(0) ? T(0) : v> T(1) ? T(1) : v)
MD_UNARY(LeakyRelu, v < T(0) ? v * static_cast<T>(a.number("alpha")) : v)
MD_UNARY(Elu, v < T(0) ? std::expm1(v) : v)
MD_UNARY(HardSwish, v* std::min(std::max(v + T(3), T(0)), T(6)) / T(6))
MD_UNARY(Sign, v > T(0) ? T(1) : v < T(0) ? T(-1) : v)

struct Neg {
  template <class T>
  static T of(T v, const Attributes&) {
    if constexpr (std::is_floating_point_v<T>)
      return -v;
    else
      return minus(T(0), v);
  }
};

struct Abs {
  template <class T>
  static T of(T v, const Attributes&) {
    if constexpr (std::is_floating_point_v<T>)
      return std::abs(v);
    else
      return v < T(0) ? minus(T(0), v) : v;
  }
};

struct Gelu {
  template <class T>
  static T of(T v, const Attributes& a) {
    return a.flag("approximate") ? gelu_by_tanh(v) : gelu_by_erf(v);
  }
};
#undef MD_UNARY

Status logical_not(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  if (call.in(0).store() != Store::u8) return call.unsupported("on a type other than bool");
  auto out = call.make_output(0, call.in(0).shape);
  if (!out) return tl::make_unexpected(out.error());
  map<std::uint8_t>(call.in(0), *out, [](std::uint8_t v) { return static_cast<std::uint8_t>(v ? 0 : 1); });
  call.outputs[0] = std::move(*out);
  return {};
}

}  // namespace

std::span<const KernelEntry> unary_kernels() {
  static const std::array rows = {
      KernelEntry{"ABS", any_unary<Abs>},
      KernelEntry{"NEG", any_unary<Neg>},
      KernelEntry{"EXP", float_unary<Exp>},
      KernelEntry{"LOG", float_unary<Log>},
      KernelEntry{"SQRT", float_unary<Sqrt>},
      KernelEntry{"RSQRT", float_unary<Rsqrt>},
      KernelEntry{"SIN", float_unary<Sin>},
      KernelEntry{"COS", float_unary<Cos>},
      KernelEntry{"TANH", float_unary<Tanh>},
      KernelEntry{"LOGISTIC", float_unary<Logistic>},
      KernelEntry{"FLOOR", float_unary<Floor>},
      KernelEntry{"CEIL", float_unary<Ceil>},
      KernelEntry{"ROUND", float_unary<Round>},
      KernelEntry{"SQUARE", any_unary<Square>},
      KernelEntry{"RELU", any_unary<Relu>},
      KernelEntry{"RELU6", any_unary<Relu6>},
      KernelEntry{"RELU_N1_TO_1", any_unary<ReluN1To1>},
      KernelEntry{"RELU_0_TO_1", any_unary<Relu0To1>},
      KernelEntry{"LEAKY_RELU", float_unary<LeakyRelu>},
      KernelEntry{"ELU", float_unary<Elu>},
      KernelEntry{"HARD_SWISH", float_unary<HardSwish>},
      KernelEntry{"SIGN", any_unary<Sign>},
      KernelEntry{"GELU", float_unary<Gelu>},
      KernelEntry{"LOGICAL_NOT", logical_not},
  };
  return rows;
}

}  // namespace md
