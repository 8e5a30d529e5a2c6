// Kernels of aten arithmetic on two operands: each operation is rounded in the type that torch computes it
// in.
#include <cmath>

#include "lib/eval/primitives/wrap.h"
#include "lib/format/torch/pairs.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

bool any_complex(const KernelCall& call) {
  return is_complex(call.out_value().dtype) ||
         std::any_of(call.inputs.begin(), call.inputs.end(),
                     [](const Tensor* t) { return t && t->lanes() == 2; });
}

template <class F>
Status pairwise(KernelCall& call, F&& f) {
  const auto pair = real_pair(call);
  if (!pair) return tl::make_unexpected(pair.error());
  return zip_pair(call, *pair, f);
}

/// a + alpha b, or a - alpha b.
Status scaled_sum(KernelCall& call, bool minus_b, bool reversed) {
  const double alpha = AtenCall(call).number("alpha", 1);
  if (any_complex(call)) {
    if (alpha != 1 || reversed) return call.unsupported("of complex values with a factor");
    return aten_complex_binary(call, minus_b ? '-' : '+');
  }
  const bool plain = alpha == 1;
  return pairwise(call, [=](auto a, auto b) {
    using T = decltype(a);
    if (reversed) std::swap(a, b);
    if (!plain) b = times(b, static_cast<T>(alpha));
    return minus_b ? minus(a, b) : plus(a, b);
  });
}
Status add(KernelCall& call) { return scaled_sum(call, false, false); }
Status sub(KernelCall& call) { return scaled_sum(call, true, false); }
Status rsub(KernelCall& call) { return scaled_sum(call, true, true); }

Status mul(KernelCall& call) {
  if (any_complex(call)) return aten_complex_binary(call, '*');
  return pairwise(call, [](auto a, auto b) { return times(a, b); });
}

/// Rounded down, as Python's // does.
template <class T>
T floor_quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if (b == -1) return minus(T(0), a);
    return static_cast<T>(a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0));
  } else {
    if (b == T(0)) return a / b;
    T rest = std::fmod(a, b), quotient = (a - rest) / b;
    if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
    if (quotient == T(0)) return std::copysign(T(0), a / b);
    T whole = std::floor(quotient);
    if (quotient - whole > T(0.5)) whole += T(1);
    return whole;
  }
}
template <class T>
T cut_quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return b == 0 ? T(0) : b == -1 ? minus(T(0), a) : static_cast<T>(a / b);
  else
    return std::trunc(a / b);
}

Status divide(KernelCall& call) {
  if (any_complex(call)) return aten_complex_binary(call, '/');
  const std::string_view mode = call.attrs().text("rounding_mode", "");
  if (mode == "floor") return pairwise(call, [](auto a, auto b) { return floor_quotient(a, b); });
  if (mode == "trunc") return pairwise(call, [](auto a, auto b) { return cut_quotient(a, b); });
  return pairwise(call, [](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>)
      return cut_quotient(a, b);  // the type of the result says that nobody asked for the true quotient
    else
      return a / b;
  });
}
Status floor_divide(KernelCall& call) {
  return pairwise(call, [](auto a, auto b) { return floor_quotient(a, b); });
}

/// The rest of a division that is rounded down (remainder) or towards zero (fmod).
Status remainder(KernelCall& call) {
  return pairwise(call, [](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>) {
      if (b == 0 || b == -1) return T(0);
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    } else {
      T rest = std::fmod(a, b);
      if (rest != T(0) && (b < T(0)) != (rest < T(0))) rest += b;
      return rest;
    }
  });
}
Status fmod_(KernelCall& call) {
  return pairwise(call, [](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>)
      return b == 0 || b == -1 ? T(0) : static_cast<T>(a % b);
    else
      return std::fmod(a, b);
  });
}

Status maximum(KernelCall& call) {
  return pairwise(call, [](auto a, auto b) { return a != a ? a : b != b ? b : a > b ? a : b; });
}
Status minimum(KernelCall& call) {
  return pairwise(call, [](auto a, auto b) { return a != a ? a : b != b ? b : a < b ? a : b; });
}
Status atan2_(KernelCall& call) {
  return pairwise(call, [](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>)
      return decltype(a){0};
    else
      return std::atan2(a, b);
  });
}
Status hypot_(KernelCall& call) {
  return pairwise(call, [](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>)
      return decltype(a){0};
    else
      return std::hypot(a, b);
  });
}
Status copysign_(KernelCall& call) {
  return pairwise(call, [](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>)
      return (a < 0) == (b < 0) ? a : minus(decltype(a){0}, a);
    else
      return std::copysign(a, b);
  });
}

/// Powers of whole numbers stay whole; negative exponents give 0 but for bases of size 1.
template <class T>
T power_of(T base, T exponent) {
  if constexpr (std::is_integral_v<T>) {
    if (exponent < 0) return base == 1 ? T(1) : base == -1 ? (exponent % 2 ? T(-1) : T(1)) : T(0);
    T result = 1;
    for (; exponent > 0; exponent >>= 1) {
      if (exponent & 1) result = times(result, base);
      base = times(base, base);
    }
    return result;
  } else {
    if (exponent == T(2)) return base * base;
    if (exponent == T(3)) return base * base * base;
    if (exponent == T(0.5)) return std::sqrt(base);
    if (exponent == T(-1)) return T(1) / base;
    if (exponent == T(-2)) return T(1) / (base * base);
    if (exponent == T(-0.5)) return T(1) / std::sqrt(base);
    return std::pow(base, exponent);
  }
}
Status power(KernelCall& call) {
  if (any_complex(call))
    return call.attrs().number("exponent", 1) == 2 ? aten_complex_unary(call, '2')
                                                   : call.unsupported("of complex values");
  const auto pair = real_pair(call, "self", "exponent");
  if (!pair) return tl::make_unexpected(pair.error());
  return zip_pair(call, *pair, [](auto a, auto b) { return power_of(a, b); });
}

/// self + value * t1 * t2, self + value * t1 / t2.
Status with_product(KernelCall& call, bool quotient) {
  AtenCall c(call);
  const auto first = real_pair(call, "tensor1", "tensor2");
  if (!first) return tl::make_unexpected(first.error());
  const Tensor* self = c.operand("self");
  if (!self || self->lanes() != 1) return call.unsupported("with these operands");
  const auto shape = broadcast_shapes({self->shape, first->shape});
  if (!shape) return c.bad("operands that do not broadcast");
  const double value = c.number("value", 1);
  return with_arithmetic(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> x(*self), a(first->a.tensor), b(first->b.tensor);
    const Shape* shapes[] = {&self->shape, &first->a.tensor.shape, &first->b.tensor.shape};
    const BroadcastPlan plan(*shape, shapes);
    return give_numbers<T>(call, 0, *shape, [&](std::span<T> to) {
      plan.each_row([&](std::size_t at, std::size_t n, const auto& offset, const auto& step) {
        for (std::size_t i = 0; i < n; ++i) {
          const T s = x[offset[0] + i * step[0]], l = a[offset[1] + i * step[1]],
                  r = b[offset[2] + i * step[2]];
          const T scaled = times(static_cast<T>(value), l);
          if constexpr (std::is_integral_v<T>)
            to[at + i] = plus(s, quotient ? cut_quotient(scaled, r) : times(scaled, r));
          else
            to[at + i] = s + (quotient ? scaled / r : scaled * r);
        }
      });
    });
  });
}
Status addcmul(KernelCall& call) { return with_product(call, false); }
Status addcdiv(KernelCall& call) { return with_product(call, true); }

/// start + weight (end - start), from the nearer end.
Status lerp(KernelCall& call) {
  AtenCall c(call);
  const auto pair = real_pair(call, "self", "end");
  if (!pair) return tl::make_unexpected(pair.error());
  const auto weight = c.operand_or_number("weight");
  if (!weight) return c.bad("an operand is missing");
  const auto shape = broadcast_shapes({pair->shape, weight->tensor.shape});
  if (!shape || !is_float(pair->common)) return call.unsupported("with these operands");
  return with_floats(call, pair->common, [&](auto zero) {
    using T = decltype(zero);
    const As<T> a(pair->a.tensor), b(pair->b.tensor), w(weight->tensor);
    const Shape* shapes[] = {&pair->a.tensor.shape, &pair->b.tensor.shape, &weight->tensor.shape};
    const BroadcastPlan plan(*shape, shapes);
    return give_numbers<T>(call, 0, *shape, [&](std::span<T> to) {
      plan.each_row([&](std::size_t at, std::size_t n, const auto& offset, const auto& step) {
        for (std::size_t i = 0; i < n; ++i) {
          const T x = a[offset[0] + i * step[0]], y = b[offset[1] + i * step[1]],
                  t = w[offset[2] + i * step[2]];
          to[at + i] = std::abs(t) < T(0.5) ? x + t * (y - x) : y - (y - x) * (T(1) - t);
        }
      });
    });
  });
}

constexpr KernelEntry entries[] = {
    {"aten.add.Tensor", add},
    {"aten.add_.Tensor", add},
    {"aten.add.Scalar", add},
    {"aten.add_.Scalar", add},
    {"aten.sub.Tensor", sub},
    {"aten.sub_.Tensor", sub},
    {"aten.sub.Scalar", sub},
    {"aten.sub_.Scalar", sub},
    {"aten.rsub.Tensor", rsub},
    {"aten.rsub.Scalar", rsub},
    {"aten.mul.Tensor", mul},
    {"aten.mul_.Tensor", mul},
    {"aten.mul.Scalar", mul},
    {"aten.mul_.Scalar", mul},
    {"aten.div.Tensor", divide},
    {"aten.div_.Tensor", divide},
    {"aten.div.Scalar", divide},
    {"aten.div_.Scalar", divide},
    {"aten.div.Tensor_mode", divide},
    {"aten.div_.Tensor_mode", divide},
    {"aten.div.Scalar_mode", divide},
    {"aten.true_divide.Tensor", divide},
    {"aten.floor_divide.default", floor_divide},
    {"aten.floor_divide.Scalar", floor_divide},
    {"aten.remainder.Tensor", remainder},
    {"aten.remainder.Scalar", remainder},
    {"aten.fmod.Tensor", fmod_},
    {"aten.fmod.Scalar", fmod_},
    {"aten.maximum.default", maximum},
    {"aten.minimum.default", minimum},
    {"aten.max.other", maximum},
    {"aten.min.other", minimum},
    {"aten.atan2.default", atan2_},
    {"aten.hypot.default", hypot_},
    {"aten.copysign.Tensor", copysign_},
    {"aten.copysign.Scalar", copysign_},
    {"aten.pow.Tensor_Scalar", power},
    {"aten.pow.Tensor_Tensor", power},
    {"aten.pow.Scalar", power},
    {"aten.addcmul.default", addcmul},
    {"aten.addcdiv.default", addcdiv},
    {"aten.lerp.Scalar", lerp},
    {"aten.lerp.Tensor", lerp},
};

}  // namespace

std::span<const KernelEntry> aten_arithmetic_kernels() { return entries; }

}  // namespace md
