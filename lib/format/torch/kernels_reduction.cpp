// Kernels of aten operators that reduce axes: sums in the arithmetic of the numeric mode.
#include <cmath>
#include <limits>

#include "lib/eval/primitives/reduction.h"
#include "lib/eval/primitives/typed.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

Result<Reduction> reduction(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return tl::make_unexpected(ok.error());
  const auto marked = AtenCall(call).marked_dims("dim", call.in(0).rank());
  if (!marked) return call.bad("an axis outside the tensor");
  return reduction_over(call.in(0).shape, *marked, call.attrs().flag("keepdim"));
}
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T>
void sum_complex(KernelCall& call, const Tensor& x, const Reduction& r, bool mean, std::span<T> to) {
  const As<T> from(x);
  ModeSum sum(call, mean);
  each_result(r, [&](std::size_t i, std::int64_t first) {
    for (std::size_t lane = 0; lane < 2; ++lane) {
      const T s =
          sum.of<T>(r.length(), [&](std::size_t k) { return from[2 * at(first + r.offsets[k]) + lane]; });
      to[2 * i + lane] = mean ? s / static_cast<T>(r.length()) : s;
    }
  });
}

Status sum_or_mean(KernelCall& call, bool mean) {
  const auto r = reduction(call);
  if (!r) return tl::make_unexpected(r.error());
  const Tensor& x = call.in(0);
  const DType out = call.out_value().dtype;
  if (x.lanes() == 2) {
    if (!is_complex(out)) return call.unsupported("from complex to real");
    const auto with = [&](auto zero) {
      using T = decltype(zero);
      return give_numbers<T>(call, 0, r->shape,
                             [&](std::span<T> to) { sum_complex<T>(call, x, *r, mean, to); });
    };
    return store_of(out, call.wide()) == Store::f64 ? with(double{}) : with(float{});
  }
  return with_arithmetic(call, out, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, r->shape, [&](std::span<T> to) {
      if constexpr (std::is_integral_v<T>) {
        each_result(*r, [&](std::size_t i, std::int64_t first) {
          T s = 0;
          for (const std::int64_t o : r->offsets) s = plus(s, from[at(first + o)]);
          to[i] = s;
        });
      } else {
        ModeSum sum(call, mean);
        const T n = static_cast<T>(r->length());
        each_result(*r, [&](std::size_t i, std::int64_t first) {
          const T s = sum.of<T>(r->length(), [&](std::size_t k) { return from[at(first + r->offsets[k])]; });
          to[i] = mean ? s / n : s;
        });
      }
    });
  });
}
Status sum(KernelCall& call) { return sum_or_mean(call, false); }
Status mean(KernelCall& call) { return sum_or_mean(call, true); }

/// var, std and var_mean: the squares of the distances from the mean, over their number less a correction.
struct Spread {
  bool root = false;      ///< std
  bool mean_too = false;  ///< var_mean: the mean is result 1
};
Status spread(KernelCall& call, const Spread& asked) {
  const auto r = reduction(call);
  if (!r) return tl::make_unexpected(r.error());
  const Tensor& x = call.in(0);
  if (x.lanes() != 1 || !x.is_float()) return call.unsupported(fmt::format("on {}", name(x.dtype)));
  AtenCall c(call);
  const double less = c.given("correction")                 ? call.attrs().number("correction")
                      : call.attrs().flag("unbiased", true) ? 1
                                                            : 0;
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    std::vector<T> means;
    const auto n = static_cast<double>(r->length());
    const T divisor = static_cast<T>(std::max(n - less, 0.0));
    auto done = give_numbers<T>(call, 0, r->shape, [&](std::span<T> to) {
      ModeSum sum(call, true);
      each_result(*r, [&](std::size_t i, std::int64_t first) {
        const auto value = [&](std::size_t k) { return from[at(first + r->offsets[k])]; };
        const T center = sum.of<T>(r->length(), value) / static_cast<T>(n);
        const T squares = sum.of<T>(r->length(), [&](std::size_t k) {
          const T distance = value(k) - center;
          return distance * distance;
        });
        to[i] = asked.root ? std::sqrt(squares / divisor) : squares / divisor;
        if (asked.mean_too) means.push_back(center);
      });
    });
    if (!done || !asked.mean_too) return done;
    return give_numbers<T>(call, 1, r->shape,
                           [&](std::span<T> to) { std::copy(means.begin(), means.end(), to.begin()); });
  });
}
Status variance(KernelCall& call) { return spread(call, {}); }
Status deviation(KernelCall& call) { return spread(call, {.root = true}); }
Status variance_and_mean(KernelCall& call) { return spread(call, {.mean_too = true}); }

/// f over each group, one after the other, from `start`; the first element where there is no start.
template <class F, class Start>
Status fold(KernelCall& call, F&& f, Start&& start) {
  const auto r = reduction(call);
  if (!r) return tl::make_unexpected(r.error());
  const Tensor& x = call.in(0);
  if (x.lanes() != 1) return call.unsupported("on complex values");
  return with_arithmetic(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::optional<T> from_start = start(zero);
    if (r->length() == 0 && !from_start) return Status(call.bad("a reduction of no elements"));
    const As<T> from(x);
    return give_numbers<T>(call, 0, r->shape, [&](std::span<T> to) {
      each_result(*r, [&](std::size_t i, std::int64_t first) {
        T v = from_start ? *from_start : from[at(first)];
        for (const std::int64_t o : r->offsets) v = f(v, from[at(first + o)]);
        to[i] = v;
      });
    });
  });
}
constexpr auto no_start = [](auto zero) { return std::optional<decltype(zero)>(); };

Status amax(KernelCall& call) {
  return fold(
      call, [](auto a, auto b) { return a != a            ? a
                                        : b != b || b > a ? b
                                                          : a; }, no_start);
}
Status amin(KernelCall& call) {
  return fold(
      call, [](auto a, auto b) { return a != a            ? a
                                        : b != b || b < a ? b
                                                          : a; }, no_start);
}
Status prod(KernelCall& call) {
  return fold(
      call, [](auto a, auto b) { return times(a, b); },
      [](auto zero) { return std::optional<decltype(zero)>(decltype(zero)(1)); });
}

/// any and all: marks, whatever the operand holds.
Status marks(KernelCall& call, bool all) {
  const auto r = reduction(call);
  if (!r) return tl::make_unexpected(r.error());
  if (call.in(0).lanes() != 1) return call.unsupported("on complex values");
  return with_arithmetic(call, call.in(0).dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(call.in(0));
    return give_numbers<std::int64_t>(call, 0, r->shape, [&](std::span<std::int64_t> to) {
      each_result(*r, [&](std::size_t i, std::int64_t first) {
        const auto holds = [&](std::int64_t o) { return from[at(first + o)] != T(0); };
        to[i] = all ? std::all_of(r->offsets.begin(), r->offsets.end(), holds)
                    : std::any_of(r->offsets.begin(), r->offsets.end(), holds);
      });
    });
  });
}
Status any(KernelCall& call) { return marks(call, false); }
Status all(KernelCall& call) { return marks(call, true); }

/// The logarithm of the sum of exponentials, from the largest element.
Status logsumexp(KernelCall& call) {
  const auto r = reduction(call);
  if (!r) return tl::make_unexpected(r.error());
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(call.in(0));
    return give_numbers<T>(call, 0, r->shape, [&](std::span<T> to) {
      ModeSum sum(call, false);
      each_result(*r, [&](std::size_t i, std::int64_t first) {
        T top = -std::numeric_limits<T>::infinity();
        for (const std::int64_t o : r->offsets) top = std::max(top, from[at(first + o)]);
        const T shift = std::isinf(top) ? T(0) : top;
        to[i] = shift + std::log(sum.of<T>(r->length(), [&](std::size_t k) {
                  return std::exp(from[at(first + r->offsets[k])] - shift);
                }));
      });
    });
  });
}

/// linalg_vector_norm and norm: of order 2, 1, infinity, 0, or any other.
Status vector_norm(KernelCall& call) {
  const auto r = reduction(call);
  if (!r) return tl::make_unexpected(r.error());
  if (call.in(0).lanes() != 1) return call.unsupported("on complex values");
  AtenCall c(call);
  const double order = call.attrs().number(c.given("ord") ? "ord" : "p", 2);
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(call.in(0));
    return give_numbers<T>(call, 0, r->shape, [&](std::span<T> to) {
      ModeSum sum(call, false);
      each_result(*r, [&](std::size_t i, std::int64_t first) {
        const auto value = [&](std::size_t k) { return std::abs(from[at(first + r->offsets[k])]); };
        if (std::isinf(order)) {
          T v = r->length() ? value(0) : T(0);
          for (std::size_t k = 1; k < r->length(); ++k)
            v = order > 0 ? std::max(v, value(k)) : std::min(v, value(k));
          to[i] = v;
        } else if (order == 2) {
          to[i] = std::sqrt(sum.of<T>(r->length(), [&](std::size_t k) { return value(k) * value(k); }));
        } else if (order == 1) {
          to[i] = sum.of<T>(r->length(), value);
        } else if (order == 0) {
          to[i] = sum.of<T>(r->length(), [&](std::size_t k) { return value(k) != T(0) ? T(1) : T(0); });
        } else {
          const T p = static_cast<T>(order);
          to[i] = std::pow(sum.of<T>(r->length(), [&](std::size_t k) { return std::pow(value(k), p); }),
                           T(1) / p);
        }
      });
    });
  });
}

constexpr KernelEntry entries[] = {
    {"aten.sum.dim_IntList", sum},
    {"aten.sum.default", sum},
    {"aten.mean.dim", mean},
    {"aten.mean.default", mean},
    {"aten.var.dim", variance},
    {"aten.var.correction", variance},
    {"aten.var.default", variance},
    {"aten.std.correction", deviation},
    {"aten.std.dim", deviation},
    {"aten.std.default", deviation},
    {"aten.var_mean.correction", variance_and_mean},
    {"aten.var_mean.dim", variance_and_mean},
    {"aten.var_mean.default", variance_and_mean},
    {"aten.amax.default", amax},
    {"aten.amin.default", amin},
    {"aten.max.default", amax},
    {"aten.min.default", amin},
    {"aten.prod.dim_int", prod},
    {"aten.prod.default", prod},
    {"aten.all.default", all},
    {"aten.all.dim", all},
    {"aten.all.dims", all},
    {"aten._is_all_true.default", all},
    {"aten.any.default", any},
    {"aten.any.dim", any},
    {"aten.any.dims", any},
    {"aten._is_any_true.default", any},
    {"aten.logsumexp.default", logsumexp},
    {"aten.linalg_vector_norm.default", vector_norm},
    {"aten.norm.ScalarOpt_dim", vector_norm},
    {"aten.norm.Scalar", vector_norm},
};

}  // namespace

std::span<const KernelEntry> aten_reduction_kernels() { return entries; }

}  // namespace md
