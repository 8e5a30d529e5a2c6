// Comparisons, logic and selection.
#include <array>

#include "lib/eval/primitives/broadcast.h"
#include "lib/eval/primitives/quantized.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

#define MD_COMPARE(Name, op)   \
  struct Name {                \
    template <class T>         \
    static bool of(T a, T b) { \
      return a op b;           \
    }                          \
  };
MD_COMPARE(Equal, ==)
MD_COMPARE(NotEqual, !=)
MD_COMPARE(Less, <)
MD_COMPARE(LessEqual, <=)
MD_COMPARE(Greater, >)
MD_COMPARE(GreaterEqual, >=)
#undef MD_COMPARE

template <class T, class F>
Status into_bool(KernelCall& call, F f) {
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  const auto shape = broadcast_shape(a.shape, b.shape);
  if (!shape)
    return call.bad(fmt::format("shapes {} and {} do not fit", shape_text(a.shape), shape_text(b.shape)));
  auto out = call.make_output(0, *shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != Store::u8) return call.bad("the result is not bool");
  broadcast_binary<T, std::uint8_t>(a.data<T>(), a.shape, b.data<T>(), b.shape,
                                    out->template mutable_data<std::uint8_t>(), out->shape,
                                    [&](T x, T y) { return static_cast<std::uint8_t>(f(x, y) ? 1 : 0); });
  call.outputs[0] = std::move(*out);
  return {};
}

template <class F>
Status compare(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  if (a.store() != b.store())
    return call.bad(fmt::format("operand types {} and {} differ", name(a.dtype), name(b.dtype)));
  return with_store(a.store(), [&](auto zero) {
    using T = decltype(zero);
    if (a.quantization && b.quantization && sizeof(T) <= 2) {
      const Affine qa = affine(a), qb = affine(b);
      return into_bool<T>(call, [=](T x, T y) {
        return F::of(static_cast<double>(qa.scale) * (static_cast<double>(x) - qa.zero),
                     static_cast<double>(qb.scale) * (static_cast<double>(y) - qb.zero));
      });
    }
    return into_bool<T>(call, [](T x, T y) { return F::of(x, y); });
  });
}

struct And {
  static bool of(std::uint8_t a, std::uint8_t b) { return a && b; }
};
struct Or {
  static bool of(std::uint8_t a, std::uint8_t b) { return a || b; }
};

template <class F>
Status logical(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  if (call.in(0).store() != Store::u8 || call.in(1).store() != Store::u8)
    return call.unsupported("on a type other than bool");
  return into_bool<std::uint8_t>(call, [](std::uint8_t x, std::uint8_t y) { return F::of(x, y); });
}

template <class T>
void choose(const Tensor& cond, const Shape& cond_shape, const Tensor& a, const Tensor& b, Tensor& out) {
  const Shape* shapes[] = {&cond_shape, &a.shape, &b.shape};
  const BroadcastPlan plan(out.shape, shapes);
  const auto c = cond.data<std::uint8_t>();
  const auto x = a.data<T>(), y = b.data<T>();
  auto z = out.mutable_data<T>();
  plan.each_row([&](std::size_t at, std::size_t n, const auto& offset, const auto& step) {
    for (std::size_t i = 0; i < n; ++i)
      z[at + i] = c[offset[0] + i * step[0]] ? x[offset[1] + i * step[1]] : y[offset[2] + i * step[2]];
  });
}

Status select(KernelCall& call, bool broadcasting) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor& cond = call.in(0);
  const Tensor& a = call.in(1);
  const Tensor& b = call.in(2);
  if (cond.store() != Store::u8) return call.bad("the condition is not bool");
  if (a.store() != b.store())
    return call.bad(fmt::format("branch types {} and {} differ", name(a.dtype), name(b.dtype)));
  // SELECT takes a condition of rank 1 by rows; SELECT_V2 broadcasts at the right.
  Shape cond_shape = cond.shape;
  if (!broadcasting && cond.rank() == 1 && a.rank() > 1) cond_shape.resize(a.shape.size(), 1);
  auto branches = broadcast_shape(a.shape, b.shape);
  const auto shape = branches ? broadcast_shape(*branches, cond_shape) : std::nullopt;
  if (!shape)
    return call.bad(fmt::format("shapes {}, {} and {} do not fit", shape_text(cond.shape),
                                shape_text(a.shape), shape_text(b.shape)));
  auto out = call.make_output(0, *shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != a.store()) return call.bad("the result's type is not the branches'");
  with_store(a.store(), [&](auto zero) { choose<decltype(zero)>(cond, cond_shape, a, b, *out); });
  call.outputs[0] = std::move(*out);
  return {};
}

Status select_v1(KernelCall& call) { return select(call, false); }
Status select_v2(KernelCall& call) { return select(call, true); }

/// The comparison that the direction names; types of the comparison (total order) differ for NaN alone.
Status stablehlo_compare(KernelCall& call) {
  const std::string_view direction = call.attrs().text("comparison_direction", "_EQ");
  if (direction.ends_with("_EQ")) return compare<Equal>(call);
  if (direction.ends_with("_NE")) return compare<NotEqual>(call);
  if (direction.ends_with("_GE")) return compare<GreaterEqual>(call);
  if (direction.ends_with("_GT")) return compare<Greater>(call);
  if (direction.ends_with("_LE")) return compare<LessEqual>(call);
  if (direction.ends_with("_LT")) return compare<Less>(call);
  return call.unsupported("in an unknown direction");
}

}  // namespace

std::span<const KernelEntry> logic_kernels() {
  static const std::array rows = {
      KernelEntry{"EQUAL", compare<Equal>},
      KernelEntry{"NOT_EQUAL", compare<NotEqual>},
      KernelEntry{"LESS", compare<Less>},
      KernelEntry{"LESS_EQUAL", compare<LessEqual>},
      KernelEntry{"GREATER", compare<Greater>},
      KernelEntry{"GREATER_EQUAL", compare<GreaterEqual>},
      KernelEntry{"LOGICAL_AND", logical<And>},
      KernelEntry{"LOGICAL_OR", logical<Or>},
      KernelEntry{"SELECT", select_v1},
      KernelEntry{"SELECT_V2", select_v2},
      KernelEntry{"STABLEHLO_COMPARE", stablehlo_compare},
  };
  return rows;
}

}  // namespace md
