// Kernels of aten operators that choose between elements, or give them another type: where, masked_fill,
// clamp between tensors, copies and casts, fills.
#include <cmath>

#include "lib/eval/primitives/broadcast.h"
#include "lib/eval/primitives/functions.h"
#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// `out` = a where the condition holds, else b; element by element, two lanes for complex values.
template <class T>
void choose(const Tensor& condition, const Tensor& a, const Tensor& b, const Shape& shape, std::size_t lanes,
            std::span<T> out) {
  const As<std::uint8_t> marks(condition);
  const As<T> x(a), y(b);
  const Shape* shapes[] = {&condition.shape, &a.shape, &b.shape};
  BroadcastPlan(shape, shapes)
      .each_row([&](std::size_t at, std::size_t n, const auto& offset, const auto& step) {
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t lane = 0; lane < lanes; ++lane)
            out[(at + i) * lanes + lane] = marks[offset[0] + i * step[0]]
                                               ? x[(offset[1] + i * step[1]) * lanes + lane]
                                               : y[(offset[2] + i * step[2]) * lanes + lane];
      });
}

Status give_choice(KernelCall& call, const Tensor& condition, const Tensor& a, const Tensor& b) {
  const auto shape = broadcast_shapes({condition.shape, a.shape, b.shape});
  const DType out = call.out_value().dtype;
  const std::size_t lanes = is_complex(out) ? 2 : 1;
  if (!shape) return call.bad("operands that do not broadcast");
  if (static_cast<std::size_t>(a.lanes()) != lanes || static_cast<std::size_t>(b.lanes()) != lanes)
    return call.unsupported("between real and complex values");
  if (condition.dtype != DType::boolean && condition.dtype != DType::u8)
    return call.bad("a condition that is not bool");
  const auto with = [&](auto zero) {
    using T = decltype(zero);
    return give_numbers<T>(call, 0, *shape,
                           [&](std::span<T> to) { choose<T>(condition, a, b, *shape, lanes, to); });
  };
  if (is_float(out) || lanes == 2)
    return store_of(out, call.wide()) == Store::f64 ? with(double{}) : with(float{});
  return with(std::int64_t{});
}

Status where(KernelCall& call) {
  AtenCall c(call);
  const Tensor* condition = c.operand("condition");
  const auto a = c.value("self"), b = c.value("other");
  if (!condition || !a || !b) return c.bad("an operand is missing");
  return give_choice(call, *condition, *a, *b);
}

Status masked_fill(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *mask = c.operand("mask");
  const auto value = c.value("value");
  if (!x || !mask || !value || x->lanes() != 1) return call.unsupported("with these operands");
  return give_choice(call, *mask, *value, *x);
}

/// clamp, clamp_min and clamp_max between tensors.
Status clamp_tensors(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *low = c.operand("min"), *high = c.operand("max");
  if (!x || (!low && !high) || x->lanes() != 1) return call.unsupported("with these operands");
  std::vector<Shape> shapes = {x->shape};
  for (const Tensor* bound : {low, high})
    if (bound) shapes.push_back(bound->shape);
  const auto shape = broadcast_shapes(shapes);
  if (!shape) return c.bad("operands that do not broadcast");
  return with_arithmetic(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> v(*x), l(low ? *low : *x), h(high ? *high : *x);
    const Shape* walked[] = {&x->shape, low ? &low->shape : &x->shape, high ? &high->shape : &x->shape};
    const BroadcastPlan plan(*shape, walked);
    return give_numbers<T>(call, 0, *shape, [&](std::span<T> to) {
      plan.each_row([&](std::size_t at, std::size_t n, const auto& offset, const auto& step) {
        for (std::size_t i = 0; i < n; ++i) {
          T e = v[offset[0] + i * step[0]];
          const T a = l[offset[1] + i * step[1]], b = h[offset[2] + i * step[2]];
          if (low && !is_nan(e)) e = is_nan(a) || e < a ? a : e;
          if (high && !is_nan(e)) e = is_nan(b) || e > b ? b : e;
          to[at + i] = e;
        }
      });
    });
  });
}

/// to.dtype and _to_copy: numbers in another type. Between equal types the elements are the same.
Status cast(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  if (const AttrValue* asked = call.attrs().find("dtype"))
    if (const auto* type = std::get_if<EnumValue>(asked);
        type && dtype_from_name(type->name) && dtype_from_name(type->name) != call.out_value().dtype)
      return call.bad(
          fmt::format("asks for {} and is said to give {}", type->name, name(call.out_value().dtype)));
  const Tensor& x = call.in(0);
  if (x.lanes() != 1 && x.dtype != call.out_value().dtype) return call.unsupported("on complex values");
  return AtenCall(call).give_cast(x);
}

/// copy_: the source in the type and shape of what it is written into.
Status copy(KernelCall& call) {
  AtenCall c(call);
  const Tensor* self = c.operand("self");
  const auto src = c.value("src");
  if (!self || !src) return c.bad("an operand is missing");
  const auto fits = broadcast_shapes({self->shape, src->shape});
  if (!fits || *fits != self->shape) return c.bad("a source that does not fit");
  View view = whole(src->shape);
  const std::size_t offset = self->shape.size() - src->shape.size();
  view.steps.insert(view.steps.begin(), offset, 0);
  for (std::size_t d = offset; d < self->shape.size(); ++d)
    if (src->shape[d - offset] == 1) view.steps[d] = 0;
  view.dims = self->shape;
  if (src->dtype == call.out_value().dtype && src->element_bytes() == self->element_bytes())
    return c.give_view(*src, view);
  if (src->lanes() != 1) return call.unsupported("between real and complex types");
  auto stretched = call.make(src->dtype, view.dims);
  if (!stretched) return tl::make_unexpected(stretched.error());
  if (stretched->element_bytes() != src->element_bytes()) return call.unsupported("with this source");
  read_view(*src, view, *stretched);
  return c.give_cast(*stretched);
}

/// fill_ with a number or a tensor of one element.
Status fill(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("self");
  const auto value = aten_base(call.node.op) == "aten.zero"
                         ? Tensor::of_integers(DType::i64, {}, std::vector<std::int64_t>{0})
                         : c.value("value");
  if (!x || !value || value->size() != 1 || x->lanes() != 1 || value->lanes() != 1)
    return call.unsupported("with these operands");
  return with_arithmetic(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const T number = As<T>(*value)[0];
    return give_numbers<T>(call, 0, x->shape,
                           [&](std::span<T> to) { std::fill(to.begin(), to.end(), number); });
  });
}

constexpr KernelEntry entries[] = {
    {"aten.where.self", where},
    {"aten.where.ScalarOther", where},
    {"aten.where.ScalarSelf", where},
    {"aten.where.Scalar", where},
    {"aten.masked_fill.Scalar", masked_fill},
    {"aten.masked_fill_.Scalar", masked_fill},
    {"aten.masked_fill.Tensor", masked_fill},
    {"aten.masked_fill_.Tensor", masked_fill},
    {"aten.clamp.Tensor", clamp_tensors},
    {"aten.clamp_min.Tensor", clamp_tensors},
    {"aten.clamp_max.Tensor", clamp_tensors},
    {"aten.to.dtype", cast},
    {"aten.type_as.default", cast},
    {"aten.to.other", cast},
    {"aten.to.device", cast},
    {"aten._to_copy.default", cast},
    {"aten.to.dtype_layout", cast},
    {"aten.copy.default", copy},
    {"aten.copy_.default", copy},
    {"aten.fill.Scalar", fill},
    {"aten.fill_.Scalar", fill},
    {"aten.fill.Tensor", fill},
    {"aten.fill_.Tensor", fill},
    {"aten.zero.default", fill},
    {"aten.zero_.default", fill},
};

}  // namespace

std::span<const KernelEntry> aten_choice_kernels() { return entries; }

}  // namespace md
