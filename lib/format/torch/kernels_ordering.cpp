// Kernels of aten operators along one axis: softmax, running sums, where the largest is, sorting.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/eval/primitives/axis_rows.h"
#include "lib/eval/primitives/softmax.h"
#include "lib/eval/primitives/typed.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// The first operand and its rows along the argument "dim" (`last`: absent means the last axis).
struct Along {
  const Tensor* x = nullptr;
  std::size_t dim = 0;
  AxisRows rows;
};
Result<Along> along(KernelCall& call, bool last = false) {
  if (auto ok = call.need(1); !ok) return tl::make_unexpected(ok.error());
  const Tensor& x = call.in(0);
  const int dim = AtenCall(call).dim("dim", x.rank(), last ? -1 : 0);
  if (dim < 0 && x.rank() > 0) return call.bad("an axis outside the tensor");
  const auto d = static_cast<std::size_t>(std::max(dim, 0));
  return Along{&x, d, rows_along(x.shape, d)};
}

Status soft(KernelCall& call, bool logarithm) {
  const auto a = along(call);
  if (!a) return tl::make_unexpected(a.error());
  if (a->x->lanes() != 1) return call.unsupported("on complex values");
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(*a->x);
    const AxisRows& r = a->rows;
    return give_numbers<T>(call, 0, a->x->shape, [&](std::span<T> to) {
      std::vector<T> in(r.inner == 1 ? 0 : r.length), out(in.size());
      each_row_along(r, [&](std::size_t, std::size_t first) {
        if (r.inner == 1)
          return softmax_row(from.data() + first, to.data() + first, r.length, T(1), logarithm);
        for (std::size_t k = 0; k < r.length; ++k) in[k] = from[first + k * r.inner];
        softmax_row(in.data(), out.data(), r.length, T(1), logarithm);
        for (std::size_t k = 0; k < r.length; ++k) to[first + k * r.inner] = out[k];
      });
    });
  });
}
Status softmax(KernelCall& call) { return soft(call, false); }
Status log_softmax(KernelCall& call) { return soft(call, true); }

/// Running results: f(so far, next), the first as it is. Complex values by lanes.
template <class F>
Status scan(KernelCall& call, bool sums, F&& f) {
  const auto a = along(call);
  if (!a) return tl::make_unexpected(a.error());
  const DType out = call.out_value().dtype;
  const auto lanes = static_cast<std::size_t>(a->x->lanes());
  if ((lanes == 2) != is_complex(out) || (lanes == 2 && !sums)) return call.unsupported("on complex values");
  const auto with = [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(*a->x);
    return give_numbers<T>(call, 0, a->x->shape, [&](std::span<T> to) {
      each_row_along(a->rows, [&](std::size_t, std::size_t first) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          T s = sums ? T(0) : T(1);
          for (std::size_t k = 0; k < a->rows.length; ++k) {
            const std::size_t p = (first + k * a->rows.inner) * lanes + lane;
            s = f(s, from[p]);
            if constexpr (std::is_same_v<T, float>) {
              if (call.mode().sums_in_f16()) s = round_to_f16(s, call.mode().saturate);
              if (sums) call.watch(static_cast<double>(s));
            }
            to[p] = s;
          }
        }
      });
    });
  };
  if (lanes == 2) return store_of(out, call.wide()) == Store::f64 ? with(double{}) : with(float{});
  return with_arithmetic(call, out, with);
}
Status cumsum(KernelCall& call) {
  return scan(call, true, [](auto s, auto v) { return plus(s, v); });
}
Status cumprod(KernelCall& call) {
  return scan(call, false, [](auto s, auto v) { return times(s, v); });
}

/// Whether `b` comes before `a`: larger (or smaller), and NaN before everything.
template <class T>
bool beats(T b, T a, bool largest) {
  if (a != a) return false;
  if (b != b) return true;
  return largest ? b > a : b < a;
}

Shape without(const Shape& shape, std::size_t dim, bool keep) {
  Shape out = shape;
  if (out.empty()) return out;
  if (keep)
    out[dim] = 1;
  else
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(dim));
  return out;
}

/// Places of the first best element of each row, with the values when there are two results.
Status best(KernelCall& call, bool largest) {
  const auto a = along(call);
  if (!a) return tl::make_unexpected(a.error());
  const Tensor& x = *a->x;
  if (x.lanes() != 1) return call.unsupported("on complex values");
  if (a->rows.length == 0) return call.bad("a reduction of no elements");
  const Shape shape = without(x.shape, a->dim, call.attrs().flag("keepdim"));
  std::vector<std::int64_t> places(a->rows.count());
  const auto done = with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    std::vector<T> values(places.size());
    each_row_along(a->rows, [&](std::size_t row, std::size_t first) {
      std::size_t pick = 0;
      for (std::size_t k = 1; k < a->rows.length; ++k)
        if (beats(from[first + k * a->rows.inner], from[first + pick * a->rows.inner], largest)) pick = k;
      places[row] = static_cast<std::int64_t>(pick), values[row] = from[first + pick * a->rows.inner];
    });
    if (call.outputs.size() < 2) return Status{};
    return give_numbers<T>(call, 0, shape,
                           [&](std::span<T> to) { std::copy(values.begin(), values.end(), to.begin()); });
  });
  if (!done) return done;
  return AtenCall(call).give_integers(shape, places, call.outputs.size() - 1);
}
Status max_dim(KernelCall& call) { return best(call, true); }
Status min_dim(KernelCall& call) { return best(call, false); }

/// argmax and argmin: without an axis, over the elements in a row.
Status arg(KernelCall& call, bool largest) {
  if (AtenCall(call).given("dim")) return best(call, largest);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1 || x.size() == 0) return call.unsupported("with this operand");
  std::int64_t pick = 0;
  with_arithmetic(call, x.dtype, [&](auto zero) {
    const As<decltype(zero)> from(x);
    for (std::size_t k = 1; k < from.size(); ++k)
      if (beats(from[k], from[static_cast<std::size_t>(pick)], largest)) pick = static_cast<std::int64_t>(k);
  });
  const Shape shape = call.attrs().flag("keepdim") ? Shape(x.shape.size(), 1) : Shape{};
  return AtenCall(call).give_integers(shape, {pick});
}
Status argmax(KernelCall& call) { return arg(call, true); }
Status argmin(KernelCall& call) { return arg(call, false); }

/// sort, argsort and topk: values (unless only places are asked for) and places, equal elements in their
/// order.
Status ordered(KernelCall& call) {
  const auto a = along(call, true);
  if (!a) return tl::make_unexpected(a.error());
  const Tensor& x = *a->x;
  if (x.lanes() != 1) return call.unsupported("on complex values");
  const bool top = aten_base(call.node.op) == "aten.topk";
  const bool descending = top ? call.attrs().flag("largest", true) : call.attrs().flag("descending");
  const std::int64_t asked = top ? call.attrs().integer("k") : static_cast<std::int64_t>(a->rows.length);
  if (asked < 0 || static_cast<std::size_t>(asked) > a->rows.length) return call.bad("more than there are");
  const auto count = static_cast<std::size_t>(asked);
  Shape shape = x.shape;
  if (!shape.empty()) shape[a->dim] = asked;
  std::vector<std::int64_t> places(a->rows.count() * count);
  const auto done = with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    std::vector<T> values(places.size());
    std::vector<std::size_t> order(a->rows.length);
    each_row_along(a->rows, [&](std::size_t row, std::size_t first) {
      const auto value = [&](std::size_t k) { return from[first + k * a->rows.inner]; };
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
        const T l = value(i), r = value(j);
        if (!descending) return l == l && (r != r || l < r);  // NaN is the largest
        return beats(l, r, true);
      });
      const std::size_t o = row / a->rows.inner, i = row % a->rows.inner;
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t to = (o * count + k) * a->rows.inner + i;
        places[to] = static_cast<std::int64_t>(order[k]), values[to] = value(order[k]);
      }
    });
    if (call.outputs.size() < 2) return Status{};
    return give_numbers<T>(call, 0, shape,
                           [&](std::span<T> to) { std::copy(values.begin(), values.end(), to.begin()); });
  });
  if (!done) return done;
  return AtenCall(call).give_integers(shape, places, call.outputs.size() - 1);
}

/// Differences of neighbours, n times.
Status diff(KernelCall& call) {
  const auto a = along(call, true);
  if (!a) return tl::make_unexpected(a.error());
  AtenCall c(call);
  if (c.operand("prepend") || c.operand("append") || a->x->lanes() != 1 || a->x->rank() == 0)
    return call.unsupported("with these operands");
  const std::int64_t times_taken = call.attrs().integer("n", 1);
  if (times_taken < 0 || times_taken > 64) return call.bad("another number of differences");
  const bool marks = a->x->dtype == DType::boolean;
  return with_arithmetic(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> start(*a->x);
    std::vector<T> now(start.span().begin(), start.span().end());
    Shape shape = a->x->shape;
    for (std::int64_t turn = 0; turn < times_taken; ++turn) {
      const AxisRows r = rows_along(shape, a->dim);
      Shape less = shape;
      less[a->dim] = std::max<std::int64_t>(less[a->dim] - 1, 0);
      std::vector<T> next(static_cast<std::size_t>(product(less)));
      for (std::size_t p = 0; p < next.size(); ++p) {
        const std::size_t o = p / r.inner / (r.length - 1), k = p / r.inner % (r.length - 1), i = p % r.inner;
        const std::size_t from = (o * r.length + k) * r.inner + i;
        next[p] =
            marks ? static_cast<T>(now[from] != now[from + r.inner]) : minus(now[from + r.inner], now[from]);
      }
      now = std::move(next), shape = std::move(less);
    }
    return give_numbers<T>(call, 0, shape,
                           [&](std::span<T> to) { std::copy(now.begin(), now.end(), to.begin()); });
  });
}

constexpr KernelEntry entries[] = {
    {"aten.softmax.int", softmax},
    {"aten._softmax.default", softmax},
    {"aten.log_softmax.int", log_softmax},
    {"aten._log_softmax.default", log_softmax},
    {.op = "aten.cumsum.default", .run = cumsum, .complex = true},
    {"aten.cumprod.default", cumprod},
    {"aten.max.dim", max_dim},
    {"aten.min.dim", min_dim},
    {"aten.argmax.default", argmax},
    {"aten.argmin.default", argmin},
    {"aten.sort.default", ordered},
    {"aten.sort.stable", ordered},
    {"aten.argsort.default", ordered},
    {"aten.argsort.stable", ordered},
    {"aten.topk.default", ordered},
    {"aten.diff.default", diff},
};

}  // namespace

std::span<const KernelEntry> aten_ordering_kernels() { return entries; }

}  // namespace md
