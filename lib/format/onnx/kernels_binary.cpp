// Kernels of elementwise operators on two operands and more.
#include <cmath>

#include "lib/eval/primitives/functions.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::zip;

Status add(KernelCall& call) {
  return zip(call, [](auto a, auto b) { return plus(a, b); });
}
Status sub(KernelCall& call) {
  return zip(call, [](auto a, auto b) { return minus(a, b); });
}
Status mul(KernelCall& call) {
  return zip(call, [](auto a, auto b) { return times(a, b); });
}
/// Whole numbers are cut towards zero; by zero gives 0 here, where C++ and ONNX say nothing.
Status div(KernelCall& call) {
  const bool unsigned64 = call.has(0) && call.in(0).dtype == DType::u64;
  return zip(call, [=](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return T(0);
      if (unsigned64) return static_cast<T>(static_cast<std::uint64_t>(a) / static_cast<std::uint64_t>(b));
      return b == -1 ? minus(T(0), a) : static_cast<T>(a / b);
    } else {
      return a / b;
    }
  });
}
/// As Python's % (the divisor's sign), or as C's fmod.
Status mod(KernelCall& call) {
  const bool c_like = call.attrs().flag("fmod");
  return zip(call, [=](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>) {
      if (b == 0 || b == -1) return T(0);
      const T r = static_cast<T>(a % b);
      return !c_like && r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
    } else {
      const T r = std::fmod(a, b);
      return !c_like && r != T(0) && (r < T(0)) != (b < T(0)) ? r + b : r;
    }
  });
}

std::int64_t whole_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  std::int64_t out = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) out = times(out, base);
    base = times(base, base);
  }
  return out;
}

/// The type is the base's; a float exponent of whole numbers is computed in double and cut.
Status pow_(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &a = call.in(0), &b = call.in(1);
  if (!a.is_float() && b.is_float())
    return onnx::zip_as(call, DType::f64, a, b, [](auto x, auto y) {
      if constexpr (std::is_integral_v<decltype(x)>)
        return whole_power(x, y);
      else
        return std::pow(x, y);
    });
  return zip(call, [](auto x, auto y) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return whole_power(x, y);
    else
      return std::pow(x, y);
  });
}

Status prelu(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const auto rule = [](auto x, auto slope) {
    using T = decltype(x);
    return x < T(0) ? times(slope, x) : x;
  };
  const Tensor &x = call.in(0), &slope = call.in(1);
  // One slope a channel, aligned with the second dimension, in old files.
  if (call.node.version < 7 && slope.rank() == 1 && x.rank() > 2 && slope.size() > 1 &&
      x.shape[1] == slope.shape[0]) {
    Shape wide = slope.shape;
    wide.insert(wide.end(), static_cast<std::size_t>(x.rank()) - 2, 1);
    return onnx::zip_as(call, x.dtype, x, slope.reshaped(std::move(wide)), rule);
  }
  return zip(call, rule);
}

Status bit_shift(KernelCall& call) {
  const bool left = call.attrs().text("direction") == "LEFT";
  const DType dtype = call.has(0) ? call.in(0).dtype : DType::u64;
  const int width = std::clamp(bit_width(dtype), 1, 64);
  const bool has_sign = is_signed(dtype);
  return zip(call, [=](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>) {
      // Past the width nothing is left but the sign; a negative count is a large one without a sign.
      if (b < 0 || b >= width) return !left && has_sign && a < 0 ? T(-1) : T(0);
      const auto raw = static_cast<std::uint64_t>(a);
      if (left) return static_cast<T>(raw << b);
      return has_sign ? static_cast<T>(a >> b) : static_cast<T>(raw >> b);
    } else {
      return a;
    }
  });
}

template <class F>
Status bits(KernelCall& call, F&& f) {
  return zip(call, [&](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>)
      return f(a, b);
    else
      return a;
  });
}
Status bit_and(KernelCall& call) {
  return bits(call, [](std::int64_t a, std::int64_t b) { return a & b; });
}
Status bit_or(KernelCall& call) {
  return bits(call, [](std::int64_t a, std::int64_t b) { return a | b; });
}
Status bit_xor(KernelCall& call) {
  return bits(call, [](std::int64_t a, std::int64_t b) { return a ^ b; });
}

/// Marks; numbers of 64 bits without sign compare as such.
template <class F>
Status compare(KernelCall& call, F&& f) {
  const bool unsigned64 = call.has(0) && call.in(0).dtype == DType::u64;
  return zip(call, [&](auto a, auto b) -> std::int64_t {
    if constexpr (std::is_integral_v<decltype(a)>)
      if (unsigned64) return f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
    return f(a, b);
  });
}
Status equal(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a == b; });
}
Status greater(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a > b; });
}
Status greater_equal(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a >= b; });
}
Status less(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a < b; });
}
Status less_equal(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a <= b; });
}
Status and_(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a != 0 && b != 0; });
}
Status or_(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a != 0 || b != 0; });
}
Status xor_(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return (a != 0) != (b != 0); });
}

/// Any number of operands, one after the other; `last` on each result.
template <class F, class Last>
Status fold(KernelCall& call, F&& f, Last&& last) {
  if (auto ok = call.need(call.count()); !ok) return ok;
  if (call.count() == 0) return call.bad("no operands");
  Shape shape = call.in(0).shape;
  for (std::size_t i = 1; i < call.count(); ++i) {
    auto joined = onnx::joint_shape(call, shape, call.in(i).shape);
    if (!joined) return tl::make_unexpected(joined.error());
    shape = std::move(*joined);
  }
  return with_arithmetic(call, call.in(0).dtype, [&](auto zero) {
    using T = decltype(zero);
    return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
      std::vector<T> so_far(to.size());
      for (std::size_t i = 0; i < call.count(); ++i) {
        const As<T> from(call.in(i));
        const Shape* shapes[] = {&call.in(i).shape};
        BroadcastPlan(shape, shapes)
            .each_row([&](std::size_t first, std::size_t n, const auto& offset, const auto& step) {
              for (std::size_t k = 0; k < n; ++k) {
                const T v = from[offset[0] + k * step[0]];
                so_far[first + k] = i == 0 ? v : f(so_far[first + k], v);
              }
            });
      }
      for (std::size_t k = 0; k < to.size(); ++k) to[k] = last(so_far[k]);
    });
  });
}
constexpr auto as_it_is = [](auto v) { return v; };

Status max_(KernelCall& call) {
  const bool unsigned64 = call.has(0) && call.in(0).dtype == DType::u64;
  return fold(
      call,
      [=](auto a, auto b) {
        if constexpr (std::is_integral_v<decltype(a)>)
          if (unsigned64) return static_cast<std::uint64_t>(a) > static_cast<std::uint64_t>(b) ? a : b;
        return is_nan(a) ? a : is_nan(b) || b > a ? b : a;
      },
      as_it_is);
}
Status min_(KernelCall& call) {
  const bool unsigned64 = call.has(0) && call.in(0).dtype == DType::u64;
  return fold(
      call,
      [=](auto a, auto b) {
        if constexpr (std::is_integral_v<decltype(a)>)
          if (unsigned64) return static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) ? a : b;
        return is_nan(a) ? a : is_nan(b) || b < a ? b : a;
      },
      as_it_is);
}
Status sum(KernelCall& call) {
  return fold(
      call, [](auto a, auto b) { return plus(a, b); }, as_it_is);
}
Status mean(KernelCall& call) {
  const auto n = static_cast<double>(call.count());
  return fold(
      call, [](auto a, auto b) { return plus(a, b); },
      [=](auto v) { return v / static_cast<decltype(v)>(n); });
}

/// One of two elements at each place: moves them.
Status where(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor &c = call.in(0), &a = call.in(1), &b = call.in(2);
  if (a.element_bytes() != b.element_bytes() || a.store() != b.store() || c.is_float())
    return call.bad("operands of several types");
  auto shape = onnx::joint_shape(call, a.shape, b.shape);
  if (shape) shape = onnx::joint_shape(call, *shape, c.shape);
  if (!shape) return tl::make_unexpected(shape.error());
  auto out = moved_output(call, 0, a, *shape);
  if (!out) return tl::make_unexpected(out.error());
  const std::size_t width = a.element_bytes();
  std::byte* to = out->mutable_raw();
  const Shape* shapes[] = {&c.shape, &a.shape, &b.shape};
  BroadcastPlan(*shape, shapes)
      .each_row([&](std::size_t first, std::size_t n, const auto& offset, const auto& step) {
        for (std::size_t i = 0; i < n; ++i) {
          const bool which = c.integer(offset[0] + i * step[0]) != 0;
          const std::byte* from = which ? a.raw() + (offset[1] + i * step[1]) * width
                                        : b.raw() + (offset[2] + i * step[2]) * width;
          std::copy(from, from + width, to + (first + i) * width);
        }
      });
  call.outputs[0] = std::move(*out);
  return {};
}

Status bias_gelu(KernelCall& call) {
  return zip(call, [](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>)
      return plus(a, b);
    else
      return gelu_by_erf(a + b);
  });
}
Status fast_gelu(KernelCall& call) {
  const auto rule = [](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>)
      return plus(a, b);
    else
      return gelu_by_tanh(a + b);
  };
  if (call.has(1)) return zip(call, rule);
  return onnx::each_real(call, [](auto v) { return gelu_by_tanh(v); });
}

/// a times the logistic of alpha a, times b.
Status swiglu(KernelCall& call) {
  const double alpha = onnx::real(call, "alpha", 1);
  return zip(call, [=](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>)
      return a;
    else
      return a * logistic(static_cast<T>(alpha) * a) * b;
  });
}

constexpr KernelEntry entries[] = {
    {"Add", add},
    {"And", and_},
    {"BitShift", bit_shift},
    {"BitwiseAnd", bit_and},
    {"BitwiseOr", bit_or},
    {"BitwiseXor", bit_xor},
    {"Div", div},
    {"Equal", equal},
    {"Greater", greater},
    {"GreaterOrEqual", greater_equal},
    {"Less", less},
    {"LessOrEqual", less_equal},
    {"Max", max_},
    {"Mean", mean},
    {"Min", min_},
    {"Mod", mod},
    {"Mul", mul},
    {"Or", or_},
    {"PRelu", prelu},
    {"Pow", pow_},
    {"Sub", sub},
    {"Sum", sum},
    {"SwiGLU", swiglu},
    {"Where", where, 6},
    {"Xor", xor_},
    {"com.microsoft.BiasGelu", bias_gelu, 0, false, "com.microsoft"},
    {"com.microsoft.FastGelu", fast_gelu, 0, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_binary_kernels() { return entries; }

}  // namespace md
