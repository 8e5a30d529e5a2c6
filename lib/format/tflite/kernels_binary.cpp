// Two operands, element by element, with broadcasting.
#include <array>

#include "lib/eval/primitives/broadcast.h"
#include "lib/eval/primitives/quantized.h"
#include "lib/eval/primitives/requantize.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

struct Add {
  template <class T>
  static T of(T a, T b) {
    return plus(a, b);
  }
};
struct Sub {
  template <class T>
  static T of(T a, T b) {
    return minus(a, b);
  }
};
struct Mul {
  template <class T>
  static T of(T a, T b) {
    return times(a, b);
  }
};
struct Div {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a / b;
    else
      return b == 0 ? T(0) : b == T(-1) ? minus(T(0), a) : static_cast<T>(a / b);
  }
};
struct FloorDiv {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return std::floor(a / b);
    else {
      const T q = Div::of(a, b);
      return b != 0 && b != T(-1) && a % b != 0 && ((a < 0) != (b < 0)) ? static_cast<T>(q - 1) : q;
    }
  }
};
struct FloorMod {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T r = std::fmod(a, b);
      return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
    } else {
      if (b == 0 || b == T(-1)) return 0;
      const T r = static_cast<T>(a % b);
      return r != 0 && ((r < 0) != (b < 0)) ? static_cast<T>(r + b) : r;
    }
  }
};
// The runtime's maximum is `a > b ? a : b`.
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    return a > b ? a : b;
  }
};
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    return a < b ? a : b;
  }
};
struct SquaredDifference {
  template <class T>
  static T of(T a, T b) {
    return times(minus(a, b), minus(a, b));
  }
};
struct Pow {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return std::pow(a, b);
    else {
      if (b < 0) return a == 1 ? T(1) : a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0);
      T result = 1, base = a;
      for (T e = b; e > 0; e = static_cast<T>(e / 2), base = times(base, base))
        if (e % 2) result = times(result, base);
      return result;
    }
  }
};
struct Atan2 {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(std::atan2(a, b));
  }
};

Result<Tensor> broadcast_output(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return tl::make_unexpected(ok.error());
  const auto shape = broadcast_shape(call.in(0).shape, call.in(1).shape);
  if (!shape)
    return call.bad(fmt::format("shapes {} and {} do not fit", shape_text(call.in(0).shape),
                                shape_text(call.in(1).shape)));
  return call.make_output(0, *shape);
}

template <class T, class F>
void compute(const Tensor& a, const Tensor& b, Tensor& out) {
  broadcast_binary<T, T>(a.data<T>(), a.shape, b.data<T>(), b.shape, out.mutable_data<T>(), out.shape,
                         [](T x, T y) { return F::of(x, y); });
}

/// Through real values, one rounding at the end: what the runtime does up to its fixed-point arithmetic. ADD,
/// SUB and MUL (below) reproduce that exactly.
template <class F>
Status quantized_by_value(KernelCall& call, const Tensor& a, const Tensor& b, Tensor& out) {
  if (!per_tensor(a) || !per_tensor(b) || !per_tensor(out))
    return call.unsupported("on tensors quantized per channel");
  const Affine qa = affine(a), qb = affine(b), qo = affine(out);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    broadcast_binary<T, T>(
        a.data<T>(), a.shape, b.data<T>(), b.shape, out.mutable_data<T>(), out.shape, [&](T x, T y) {
          return quantized_value<T>(
              F::of(qa.scale * static_cast<float>(x - qa.zero), qb.scale * static_cast<float>(y - qb.zero)),
              qo);
        });
    return Status{};
  };
  if (out.store() == Store::i8) return run(std::int8_t{});
  if (out.store() == Store::u8) return run(std::uint8_t{});
  if (out.store() == Store::i16) return run(std::int16_t{});
  return call.unsupported(fmt::format("on quantized {}", name(out.dtype)));
}

/// ADD and SUB on 16-bit activations: both operands rescaled to twice the larger scale, 15 bits up.
void fixed_point_sum(const Tensor& a, const Tensor& b, Tensor& out, bool subtract, Activation activation) {
  using T = std::int16_t;
  const Affine qa = affine(a), qb = affine(b), qo = affine(out);
  constexpr int left = 15;
  const double twice = 2.0 * static_cast<double>(std::max(qa.scale, qb.scale));
  const Multiplier ma = quantize_multiplier(static_cast<double>(qa.scale) / twice),
                   mb = quantize_multiplier(static_cast<double>(qb.scale) / twice);
  const Multiplier mo = quantize_multiplier(twice / ((1 << left) * static_cast<double>(qo.scale)));
  const auto [low, high] = activation_bounds<T>(activation, qo);
  broadcast_binary<T, T>(
      a.data<T>(), a.shape, b.data<T>(), b.shape, out.mutable_data<T>(), out.shape,
      [&, lo = low, hi = high](T x, T y) {
        const std::int32_t sx = rescale(static_cast<std::int32_t>((x - qa.zero) * (1 << left)), ma);
        const std::int32_t sy = rescale(static_cast<std::int32_t>((y - qb.zero) * (1 << left)), mb);
        const std::int32_t raw = rescale(subtract ? sx - sy : sx + sy, mo) + qo.zero;
        return static_cast<T>(std::clamp(raw, lo, hi));
      });
}

template <class T>
void quantized_sum(const Tensor& a, const Tensor& b, Tensor& out, bool subtract, Activation activation) {
  const Affine qo = affine(out);
  const QuantizedSum sum(affine(a), affine(b), qo, subtract);
  const auto [low, high] = activation_bounds<T>(activation, qo);
  broadcast_binary<T, T>(a.data<T>(), a.shape, b.data<T>(), b.shape, out.mutable_data<T>(), out.shape,
                         [&, lo = low, hi = high](T x, T y) {
                           return static_cast<T>(std::clamp<std::int64_t>(sum.of(x, y) + qo.zero, lo, hi));
                         });
}

template <class T>
void quantized_product(const Tensor& a, const Tensor& b, Tensor& out, Activation activation) {
  const Affine qa = affine(a), qb = affine(b), qo = affine(out);
  const auto [low, high] = activation_bounds<T>(activation, qo);
  const float scale = qa.scale * qb.scale / qo.scale;
  const Multiplier m = quantize_multiplier(static_cast<double>(qa.scale) * static_cast<double>(qb.scale) /
                                           static_cast<double>(qo.scale));
  broadcast_binary<T, T>(
      a.data<T>(), a.shape, b.data<T>(), b.shape, out.mutable_data<T>(), out.shape,
      [&, lo = low, hi = high](T x, T y) {
        const std::int64_t product = static_cast<std::int64_t>(x - qa.zero) * (y - qb.zero);
        if constexpr (sizeof(T) == 2)
          return static_cast<T>(std::clamp(rescale(saturate_to<std::int32_t>(product), m) + qo.zero, lo, hi));
        else
          return static_cast<T>(scale_accumulator(product, scale, qo.zero, lo, hi));
      });
}

template <class F>
Status quantized_binary(KernelCall& call, const Tensor& a, const Tensor& b, Tensor& out,
                        Activation activation) {
  if (!per_tensor(a) || !per_tensor(b) || !per_tensor(out))
    return call.unsupported("on tensors quantized per channel");
  constexpr bool sum = std::is_same_v<F, Add> || std::is_same_v<F, Sub>;
  constexpr bool product = std::is_same_v<F, Mul>;
  if constexpr (sum || product) {
    return with_store(out.store(), [&](auto zero) -> Status {
      using T = decltype(zero);
      if constexpr (sizeof(T) > 2) {
        return call.unsupported(fmt::format("on quantized {}", name(out.dtype)));
      } else {
        if constexpr (sum && sizeof(T) == 2)
          fixed_point_sum(a, b, out, std::is_same_v<F, Sub>, activation);
        else if constexpr (sum)
          quantized_sum<T>(a, b, out, std::is_same_v<F, Sub>, activation);
        else
          quantized_product<T>(a, b, out, activation);
        return {};
      }
    });
  } else {
    return quantized_by_value<F>(call, a, b, out);
  }
}

template <class F, bool integers = true>
Status binary(KernelCall& call) {
  auto out = broadcast_output(call);
  if (!out) return tl::make_unexpected(out.error());
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  const auto activation = fused_activation(call.attrs());
  if (!activation) return call.unsupported("with this fused activation");
  if (a.store() != b.store() || a.store() != out->store())
    return call.bad(fmt::format("operand types {} and {} differ", name(a.dtype), name(b.dtype)));
  if (a.store() == Store::f32) {
    compute<float, F>(a, b, *out);
    activate<float>(*activation, out->mutable_data<float>());
  } else if (a.store() == Store::f64) {
    compute<double, F>(a, b, *out);
    activate<double>(*activation, out->mutable_data<double>());
  } else if (out->quantization) {
    if (auto ok = quantized_binary<F>(call, a, b, *out, *activation); !ok) return ok;
  } else if constexpr (integers) {
    with_store(a.store(), [&](auto zero) {
      using T = decltype(zero);
      compute<T, F>(a, b, *out);
      if (*activation == Activation::relu || *activation == Activation::relu6 ||
          *activation == Activation::relu_n1_to_1)
        for (T& v : out->mutable_data<T>())
          v = *activation == Activation::relu_n1_to_1 ? std::clamp<T>(v, T(-1), T(1))
              : *activation == Activation::relu6      ? std::clamp<T>(v, 0, 6)
                                                      : std::max<T>(v, 0);
    });
  } else {
    return call.unsupported(fmt::format("on {}", name(a.dtype)));
  }
  call.outputs[0] = std::move(*out);
  return {};
}

/// x where x >= 0, alpha * x below; alpha broadcasts.
struct Prelu {
  template <class T>
  static T of(T x, T alpha) {
    return x < T(0) ? times(x, alpha) : x;
  }
};

Status add_n(KernelCall& call) {
  if (auto ok = call.need(call.count() ? call.count() : 1); !ok) return ok;
  auto out = call.make_output(0, call.in(0).shape);
  if (!out) return tl::make_unexpected(out.error());
  for (std::size_t k = 0; k < call.count(); ++k)
    if (call.in(k).shape != out->shape || call.in(k).store() != out->store())
      return call.bad("operands differ in shape or type");
  with_store(out->store(), [&](auto zero) {
    using T = decltype(zero);
    auto sum = out->mutable_data<T>();
    std::fill(sum.begin(), sum.end(), T(0));
    for (std::size_t k = 0; k < call.count(); ++k) {
      const auto from = call.in(k).data<T>();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = plus(sum[i], from[i]);
    }
  });
  call.outputs[0] = std::move(*out);
  return {};
}

}  // namespace

std::span<const KernelEntry> binary_kernels() {
  static const std::array rows = {
      KernelEntry{"ADD", binary<Add>},
      KernelEntry{"SUB", binary<Sub>},
      KernelEntry{"MUL", binary<Mul>},
      KernelEntry{"DIV", binary<Div>},
      KernelEntry{"FLOOR_DIV", binary<FloorDiv>},
      KernelEntry{"FLOOR_MOD", binary<FloorMod>},
      KernelEntry{"MAXIMUM", binary<Maximum>},
      KernelEntry{"MINIMUM", binary<Minimum>},
      KernelEntry{"SQUARED_DIFFERENCE", binary<SquaredDifference>},
      KernelEntry{"POW", binary<Pow>},
      KernelEntry{"ATAN2", binary<Atan2, false>},
      KernelEntry{"PRELU", binary<Prelu>},
      KernelEntry{"ADD_N", add_n},
  };
  return rows;
}

}  // namespace md
