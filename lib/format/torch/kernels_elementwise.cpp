// Kernels of elementwise aten operators. Integers stay integers; floats are computed in double and rounded
// once, which for + - * / and sqrt is what float arithmetic gives.
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

bool is_whole(const Tensor& t) { return !t.is_float(); }

bool any_complex(const KernelCall& call) {
  const DType type = call.out_value().dtype;
  return type == DType::c32 || type == DType::c64 || type == DType::c128 ||
         std::any_of(call.inputs.begin(), call.inputs.end(),
                     [](const Tensor* t) { return t && t->lanes() == 2; });
}

/// out[k] = f(a[k], b[k]) in double, or g in integers when both are and the result is one.
template <class F, class G>
Status binary(KernelCall& call, F&& f, G&& g) {
  AtenCall c(call);
  const auto a = c.value("self"), b = c.value("other");
  if (!a || !b) return c.bad("an operand is missing");
  if (a->lanes() != 1 || b->lanes() != 1) return call.unsupported("on complex values");
  const auto shape = aten_broadcast({a->shape, b->shape});
  if (!shape)
    return c.bad(fmt::format("{} and {} do not broadcast", shape_text(a->shape), shape_text(b->shape)));
  const auto at_a = broadcast_positions(a->shape, *shape), at_b = broadcast_positions(b->shape, *shape);
  if (is_whole(*a) && is_whole(*b) && !is_float(call.out_value().dtype)) {
    const auto x = a->integers(), y = b->integers();
    std::vector<std::int64_t> out(at_a.size());
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] = g(x[static_cast<std::size_t>(at_a[k])], y[static_cast<std::size_t>(at_b[k])]);
    return c.give_integers(*shape, out);
  }
  const auto x = a->numbers(), y = b->numbers();
  std::vector<double> out(at_a.size());
  for (std::size_t k = 0; k < out.size(); ++k)
    out[k] = f(x[static_cast<std::size_t>(at_a[k])], y[static_cast<std::size_t>(at_b[k])]);
  return c.give(*shape, out);
}

template <class F>
Status unary(KernelCall& call, F&& f) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1) return call.unsupported("on complex values");
  std::vector<double> out = x.numbers();
  for (double& v : out) v = f(v);
  return c.give(x.shape, out);
}

using I = std::int64_t;
I wrap_add(I a, I b) { return static_cast<I>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b)); }
I wrap_mul(I a, I b) { return static_cast<I>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)); }

Status add(KernelCall& call) {
  if (any_complex(call)) return aten_complex_binary(call, '+');
  const double alpha = call.attrs().number("alpha", 1);
  return binary(
      call, [&](double a, double b) { return a + alpha * b; },
      [&](I a, I b) { return wrap_add(a, wrap_mul(static_cast<I>(alpha), b)); });
}
Status sub(KernelCall& call) {
  if (any_complex(call)) return aten_complex_binary(call, '-');
  const double alpha = call.attrs().number("alpha", 1);
  return binary(
      call, [&](double a, double b) { return a - alpha * b; },
      [&](I a, I b) { return wrap_add(a, wrap_mul(-static_cast<I>(alpha), b)); });
}
Status mul(KernelCall& call) {
  return any_complex(call) ? aten_complex_binary(call, '*')
                           : binary(
                                 call, [](double a, double b) { return a * b; }, wrap_mul);
}
Status divide(KernelCall& call) {
  return any_complex(call)
             ? aten_complex_binary(call, '/')
             : binary(
                   call, [](double a, double b) { return a / b; }, [](I a, I b) { return b ? a / b : 0; });
}
Status maximum(KernelCall& call) {
  return binary(
      call, [](double a, double b) { return a != a || b != b ? NAN : std::max(a, b); },
      [](I a, I b) { return std::max(a, b); });
}
Status minimum(KernelCall& call) {
  return binary(
      call, [](double a, double b) { return a != a || b != b ? NAN : std::min(a, b); },
      [](I a, I b) { return std::min(a, b); });
}
Status atan2_(KernelCall& call) {
  return binary(
      call, [](double a, double b) { return std::atan2(a, b); }, [](I, I) { return I{0}; });
}

template <class Compare>
Status compare(KernelCall& call, Compare f) {
  return binary(
      call, [f](double a, double b) { return f(a, b) ? 1.0 : 0.0; }, [f](I a, I b) { return I{f(a, b)}; });
}
Status eq(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a == b; });
}
Status ne(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a != b; });
}
Status lt(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a < b; });
}
Status le(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a <= b; });
}
Status gt(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a > b; });
}
Status ge(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a >= b; });
}
Status logical_and(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a != 0 && b != 0; });
}
Status bitwise_and(KernelCall& call) {
  return binary(
      call, [](double, double) { return 0.0; }, [](I a, I b) { return a & b; });
}
Status logical_or(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a != 0 || b != 0; });
}
Status logical_not(KernelCall& call) {
  return unary(call, [](double v) { return v == 0 ? 1.0 : 0.0; });
}

Status neg(KernelCall& call) {
  return any_complex(call) ? aten_complex_unary(call, '-') : unary(call, [](double v) { return -v; });
}
Status abs_(KernelCall& call) {
  return any_complex(call) ? aten_complex_unary(call, '|')
                           : unary(call, [](double v) { return std::abs(v); });
}
Status exp_(KernelCall& call) {
  return any_complex(call) ? aten_complex_unary(call, 'e')
                           : unary(call, [](double v) { return std::exp(v); });
}
Status log_(KernelCall& call) {
  return unary(call, [](double v) { return std::log(v); });
}
Status sin_(KernelCall& call) {
  return unary(call, [](double v) { return std::sin(v); });
}
Status cos_(KernelCall& call) {
  return unary(call, [](double v) { return std::cos(v); });
}
Status tanh_(KernelCall& call) {
  return unary(call, [](double v) { return std::tanh(v); });
}
Status sqrt_(KernelCall& call) {
  return unary(call, [](double v) { return std::sqrt(v); });
}
Status rsqrt_(KernelCall& call) {
  return unary(call, [](double v) { return 1 / std::sqrt(v); });
}
Status reciprocal(KernelCall& call) {
  if (any_complex(call)) return aten_complex_unary(call, '1');
  return unary(call, [](double v) { return 1 / v; });
}
Status relu(KernelCall& call) {
  return unary(call, [](double v) { return v < 0 ? 0.0 : v; });
}
Status sigmoid(KernelCall& call) {
  return unary(call, [](double v) { return 1 / (1 + std::exp(-v)); });
}
Status silu(KernelCall& call) {
  return unary(call, [](double v) { return v / (1 + std::exp(-v)); });
}
Status erf_(KernelCall& call) {
  return unary(call, [](double v) { return std::erf(v); });
}
Status floor_(KernelCall& call) {
  return unary(call, [](double v) { return std::floor(v); });
}
Status square(KernelCall& call) {
  if (any_complex(call)) return aten_complex_unary(call, '2');
  return unary(call, [](double v) { return v * v; });
}
Status gelu(KernelCall& call) {
  const bool tanh_form = call.attrs().text("approximate") == "tanh";
  return unary(call, [tanh_form](double v) {
    return tanh_form ? 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)))
                     : 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
  });
}
Status power(KernelCall& call) {
  const double exponent = call.attrs().number("exponent", 1);
  if (any_complex(call))
    return exponent == 2 ? aten_complex_unary(call, '2') : call.unsupported("of complex values");
  return unary(call, [exponent](double v) { return exponent == 2 ? v * v : std::pow(v, exponent); });
}
Status clamp(KernelCall& call) {
  const AttrValue *low = call.attrs().find("min"), *high = call.attrs().find("max");
  const bool has_low = low && !std::holds_alternative<std::monostate>(*low),
             has_high = high && !std::holds_alternative<std::monostate>(*high);
  const double a = call.attrs().number("min"), b = call.attrs().number("max");
  return unary(call, [=](double v) { return has_low && v < a ? a : has_high && v > b ? b : v; });
}

/// to.dtype and _to_copy: numbers in another type. Between equal types the elements are the same.
Status cast(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (const AttrValue* asked = call.attrs().find("dtype"))
    if (const auto* type = std::get_if<EnumValue>(asked);
        type && dtype_from_name(type->name) && dtype_from_name(type->name) != call.out_value().dtype)
      return call.bad(
          fmt::format("asks for {} and is said to give {}", type->name, name(call.out_value().dtype)));
  if (x.dtype == call.out_value().dtype) {
    call.outputs[0] = x;
    return {};
  }
  if (x.lanes() != 1) return call.unsupported("on complex values");
  if (is_whole(x)) return c.give_integers(x.shape, x.integers());
  return c.give(x.shape, x.numbers());
}

Status where(KernelCall& call) {
  AtenCall c(call);
  const Tensor* condition = c.operand("condition");
  const auto a = c.value("self"), b = c.value("other");
  if (!condition || !a || !b) return c.bad("an operand is missing");
  const auto shape = aten_broadcast({condition->shape, a->shape, b->shape});
  if (!shape || a->lanes() != b->lanes()) return c.bad("operands that do not broadcast");
  const auto pc = broadcast_positions(condition->shape, *shape), pa = broadcast_positions(a->shape, *shape),
             pb = broadcast_positions(b->shape, *shape);
  const auto choose = condition->integers();
  if (is_whole(*a) && is_whole(*b)) {
    const auto x = a->integers(), y = b->integers();
    std::vector<std::int64_t> out(pc.size());
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] = choose[static_cast<std::size_t>(pc[k])] ? x[static_cast<std::size_t>(pa[k])]
                                                       : y[static_cast<std::size_t>(pb[k])];
    return c.give_integers(*shape, out);
  }
  const auto x = a->numbers(), y = b->numbers();
  const auto lanes = static_cast<std::size_t>(a->lanes());
  std::vector<double> out(pc.size() * lanes);
  for (std::size_t k = 0; k < pc.size(); ++k)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      out[k * lanes + lane] = choose[static_cast<std::size_t>(pc[k])]
                                  ? x[static_cast<std::size_t>(pa[k]) * lanes + lane]
                                  : y[static_cast<std::size_t>(pb[k]) * lanes + lane];
  return c.give(*shape, out);
}

/// copy_: the source in the type and shape of what it is written into.
Status copy(KernelCall& call) {
  AtenCall c(call);
  const Tensor* self = c.operand("self");
  const auto src = c.value("src");
  if (!self || !src) return c.bad("an operand is missing");
  const auto fits = aten_broadcast({self->shape, src->shape});
  if (!fits || *fits != self->shape) return c.bad("a source that does not fit");
  const auto from = broadcast_positions(src->shape, self->shape);
  if (src->dtype == call.out_value().dtype) return c.move(*src, self->shape, from);
  const auto numbers = src->numbers();
  std::vector<double> out;
  for (const std::int64_t f : from) out.push_back(numbers[static_cast<std::size_t>(f)]);
  return c.give(self->shape, out);
}

constexpr KernelEntry entries[] = {
    {"aten.add.Tensor", add},
    {"aten.add_.Tensor", add},
    {"aten.add.Scalar", add},
    {"aten.sub.Tensor", sub},
    {"aten.sub_.Tensor", sub},
    {"aten.sub.Scalar", sub},
    {"aten.mul.Tensor", mul},
    {"aten.mul_.Tensor", mul},
    {"aten.mul.Scalar", mul},
    {"aten.div.Tensor", divide},
    {"aten.div_.Tensor", divide},
    {"aten.div.Scalar", divide},
    {"aten.maximum.default", maximum},
    {"aten.minimum.default", minimum},
    {"aten.atan2.default", atan2_},
    {"aten.eq.Tensor", eq},
    {"aten.eq.Scalar", eq},
    {"aten.ne.Tensor", ne},
    {"aten.ne.Scalar", ne},
    {"aten.lt.Tensor", lt},
    {"aten.lt.Scalar", lt},
    {"aten.le.Tensor", le},
    {"aten.le.Scalar", le},
    {"aten.gt.Tensor", gt},
    {"aten.gt.Scalar", gt},
    {"aten.ge.Tensor", ge},
    {"aten.ge.Scalar", ge},
    {"aten.logical_and.default", logical_and},
    {"aten.logical_or.default", logical_or},
    {"aten.logical_not.default", logical_not},
    {"aten.bitwise_and.Tensor", bitwise_and},
    {"aten.bitwise_and.Scalar", bitwise_and},
    {"aten.neg.default", neg},
    {"aten.abs.default", abs_},
    {"aten.exp.default", exp_},
    {"aten.log.default", log_},
    {"aten.sin.default", sin_},
    {"aten.cos.default", cos_},
    {"aten.tanh.default", tanh_},
    {"aten.sqrt.default", sqrt_},
    {"aten.rsqrt.default", rsqrt_},
    {"aten.reciprocal.default", reciprocal},
    {"aten.relu.default", relu},
    {"aten.relu_.default", relu},
    {"aten.sigmoid.default", sigmoid},
    {"aten.silu.default", silu},
    {"aten.silu_.default", silu},
    {"aten.erf.default", erf_},
    {"aten.floor.default", floor_},
    {"aten.gelu.default", gelu},
    {"aten.square.default", square},
    {"aten.pow.Tensor_Scalar", power},
    {"aten.clamp.default", clamp},
    {"aten.clamp_.default", clamp},
    {"aten.to.dtype", cast},
    {"aten.type_as.default", cast},
    {"aten.to.other", cast},
    {"aten.to.device", cast},
    {"aten._to_copy.default", cast},
    {"aten.to.dtype_layout", cast},
    {"aten.where.self", where},
    {"aten.where.ScalarOther", where},
    {"aten.copy.default", copy},
    {"aten.copy_.default", copy},
};

}  // namespace

std::span<const KernelEntry> aten_elementwise_kernels() { return entries; }

}  // namespace md
