// Kernels of operators that reduce axes: sums in the arithmetic of the numeric mode.
#include <cmath>
#include <limits>

#include "lib/eval/primitives/axis_rows.h"
#include "lib/eval/primitives/functions.h"
#include "lib/eval/primitives/reduction.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;

/// nullopt: no axes at all, the operand stays.
Result<std::optional<Reduction>> reduction(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return tl::make_unexpected(ok.error());
  const auto axes = onnx::list_of(call, "axes", 1);
  if ((!axes || axes->empty()) && call.attrs().flag("noop_with_empty_axes"))
    return std::optional<Reduction>();
  const auto marked = onnx::marked_axes(axes, call.in(0).shape.size());
  if (!marked) return call.bad("an axis outside the tensor");
  return std::optional(reduction_over(call.in(0).shape, *marked, call.attrs().flag("keepdims", true)));
}

/// Sums of term(element), and last(sum, number of terms).
template <class Term, class Last>
Status sums(KernelCall& call, bool mean, Term&& term, Last&& last) {
  const auto found = reduction(call);
  if (!found) return tl::make_unexpected(found.error());
  const Tensor& x = call.in(0);
  if (x.lanes() != 1) return call.unsupported("on complex values");
  const Reduction one =
      *found ? Reduction() : reduction_over(x.shape, std::vector<bool>(x.shape.size(), false), true);
  const Reduction& r = *found ? **found : one;
  return with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, r.shape, [&](std::span<T> to) {
      if constexpr (std::is_integral_v<T>) {
        each_result(r, [&](std::size_t i, std::int64_t first) {
          T s = 0;
          for (const std::int64_t o : r.offsets) s = plus(s, term(from[at(first + o)]));
          to[i] = last(s, static_cast<T>(r.length()));
        });
      } else {
        ModeSum sum(call, mean);
        each_result(r, [&](std::size_t i, std::int64_t first) {
          const T s =
              sum.of<T>(r.length(), [&](std::size_t k) { return term(from[at(first + r.offsets[k])]); });
          to[i] = last(s, static_cast<T>(r.length()));
        });
      }
    });
  });
}
constexpr auto itself = [](auto v) { return v; };
constexpr auto the_sum = [](auto s, auto) { return s; };
constexpr auto square = [](auto v) { return times(v, v); };
constexpr auto magnitude = [](auto v) { return v < 0 ? minus(decltype(v)(0), v) : v; };

template <class T>
T in_real(T v, double (*f)(double)) {
  if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(f(static_cast<double>(v)));
  else
    return static_cast<T>(f(static_cast<double>(v)));
}
double root(double v) { return std::sqrt(v); }
double logarithm(double v) { return std::log(v); }

Status sum(KernelCall& call) { return sums(call, false, itself, the_sum); }
Status mean(KernelCall& call) {
  return sums(call, true, itself, [](auto s, auto n) {
    return n == 0 && std::is_integral_v<decltype(s)> ? s : static_cast<decltype(s)>(s / n);
  });
}
Status sum_square(KernelCall& call) { return sums(call, false, square, the_sum); }
Status l1(KernelCall& call) { return sums(call, false, magnitude, the_sum); }
Status l2(KernelCall& call) {
  return sums(call, false, square, [](auto s, auto) { return in_real(s, root); });
}
Status log_sum(KernelCall& call) {
  return sums(call, false, itself, [](auto s, auto) { return in_real(s, logarithm); });
}

/// f over each group, one after the other; `empty` where there is no element.
template <class F, class Empty>
Status fold(KernelCall& call, F&& f, Empty&& empty) {
  const auto found = reduction(call);
  if (!found) return tl::make_unexpected(found.error());
  const Tensor& x = call.in(0);
  if (x.lanes() != 1) return call.unsupported("on complex values");
  if (!*found) {
    call.outputs[0] = x;
    return {};
  }
  const Reduction& r = **found;
  return with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, r.shape, [&](std::span<T> to) {
      each_result(r, [&](std::size_t i, std::int64_t first) {
        T v = r.length() ? from[at(first + r.offsets[0])] : empty(zero);
        for (std::size_t k = 1; k < r.length(); ++k) v = f(v, from[at(first + r.offsets[k])]);
        to[i] = v;
      });
    });
  });
}

/// The least and the largest number of an element type.
template <class T>
T extreme(DType dtype, bool largest) {
  if constexpr (std::is_floating_point_v<T>) {
    return largest ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
  } else {
    if (dtype == DType::boolean) return largest;
    const int bits = std::clamp(bit_width(dtype), 1, 64);
    if (!is_signed(dtype))
      return largest ? static_cast<T>(bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1) : T(0);
    const T least = static_cast<T>(std::uint64_t{1} << (bits - 1)) * (bits == 64 ? 1 : -1);
    return largest ? static_cast<T>(-(least + 1)) : least;
  }
}

Status max_(KernelCall& call) {
  const DType dtype = call.has(0) ? call.in(0).dtype : DType::f32;
  const bool unsigned64 = dtype == DType::u64;
  return fold(
      call,
      [=](auto a, auto b) {
        if constexpr (std::is_integral_v<decltype(a)>)
          if (unsigned64) return static_cast<std::uint64_t>(a) > static_cast<std::uint64_t>(b) ? a : b;
        return is_nan(a) ? a : is_nan(b) || b > a ? b : a;
      },
      [=](auto zero) { return extreme<decltype(zero)>(dtype, false); });
}
Status min_(KernelCall& call) {
  const DType dtype = call.has(0) ? call.in(0).dtype : DType::f32;
  const bool unsigned64 = dtype == DType::u64;
  return fold(
      call,
      [=](auto a, auto b) {
        if constexpr (std::is_integral_v<decltype(a)>)
          if (unsigned64) return static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) ? a : b;
        return is_nan(a) ? a : is_nan(b) || b < a ? b : a;
      },
      [=](auto zero) { return extreme<decltype(zero)>(dtype, true); });
}
Status prod(KernelCall& call) {
  return fold(
      call, [](auto a, auto b) { return times(a, b); }, [](auto zero) { return decltype(zero)(1); });
}

/// log(sum(exp(x))), shifted by the largest so that nothing overflows on the way.
Status log_sum_exp(KernelCall& call) {
  const auto found = reduction(call);
  if (!found) return tl::make_unexpected(found.error());
  const Tensor& x = call.in(0);
  if (!*found) {
    call.outputs[0] = x;
    return {};
  }
  const Reduction& r = **found;
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, r.shape, [&](std::span<T> to) {
      ModeSum sum(call, false);
      each_result(r, [&](std::size_t i, std::int64_t first) {
        T top = -std::numeric_limits<T>::infinity();
        for (const std::int64_t o : r.offsets) top = std::max(top, from[at(first + o)]);
        if (!std::isfinite(top)) top = T(0);
        to[i] = top + std::log(sum.of<T>(r.length(), [&](std::size_t k) {
                  return std::exp(from[at(first + r.offsets[k])] - top);
                }));
      });
    });
  });
}

Status arg(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const bool largest = call.node.op == "ArgMax", last = call.attrs().flag("select_last_index");
  const auto axis = normal_axis(call.attrs().integer("axis"), x.shape.size());
  if (!axis || x.lanes() != 1) return call.bad("an axis outside the tensor");
  const AxisRows rows = rows_along(x.shape, *axis);
  if (rows.length == 0) return call.bad("a reduction of no elements");
  onnx::Numbers places(rows.count());
  with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    each_row_along(rows, [&](std::size_t row, std::size_t first) {
      std::size_t pick = 0;
      for (std::size_t k = 1; k < rows.length; ++k) {
        const T a = from[first + pick * rows.inner], b = from[first + k * rows.inner];
        if (largest ? b > a : b < a) pick = k;
        if (last && a == b) pick = k;
      }
      places[row] = static_cast<std::int64_t>(pick);
    });
  });
  Shape shape = x.shape;
  if (call.attrs().flag("keepdims", true))
    shape[*axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  return onnx::give_integers(call, 0, shape, places);
}

/// Running sums or products, forward or backward, without the element itself when exclusive.
Status scan(KernelCall& call, bool products) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto number = onnx::number_of(call, 1);
  const auto axis = number ? normal_axis(static_cast<std::int64_t>(*number), x.shape.size()) : std::nullopt;
  if (!axis || x.lanes() != 1) return call.bad("an axis outside the tensor");
  const bool exclusive = call.attrs().flag("exclusive"), reverse = call.attrs().flag("reverse");
  const AxisRows rows = rows_along(x.shape, *axis);
  return with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      each_row_along(rows, [&](std::size_t, std::size_t first) {
        T s = products ? T(1) : T(0);
        for (std::size_t k = 0; k < rows.length; ++k) {
          const std::size_t p = first + (reverse ? rows.length - 1 - k : k) * rows.inner;
          if (exclusive) to[p] = s;
          s = products ? times(s, from[p]) : plus(s, from[p]);
          if constexpr (std::is_same_v<T, float>)
            if (call.mode().sums_in_f16()) s = round_to_f16(s, call.mode().saturate);
          if constexpr (std::is_floating_point_v<T>)
            if (!products) call.watch(static_cast<double>(s));
          if (!exclusive) to[p] = s;
        }
      });
    });
  });
}
Status cumsum(KernelCall& call) { return scan(call, false); }
Status cumprod(KernelCall& call) { return scan(call, true); }

constexpr KernelEntry entries[] = {
    {"ArgMax", arg},           {"ArgMin", arg},
    {"CumProd", cumprod},      {"CumSum", cumsum},
    {"ReduceL1", l1},          {"ReduceL2", l2},
    {"ReduceLogSum", log_sum}, {"ReduceLogSumExp", log_sum_exp},
    {"ReduceMax", max_},       {"ReduceMean", mean},
    {"ReduceMin", min_},       {"ReduceProd", prod},
    {"ReduceSum", sum},        {"ReduceSumSquare", sum_square},
};

}  // namespace

std::span<const KernelEntry> onnx_reduction_kernels() { return entries; }

}  // namespace md
