// Kernels of complex aten operators, in the arithmetic of the numeric mode.
#include "lib/format/torch/call.h"
#include "lib/format/torch/complex.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// Between pairs of real numbers and complex ones: the same elements.
Status view_as_complex(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.shape.empty() || x.shape.back() != 2 || x.lanes() != 1)
    return call.bad("a last axis of another size than 2");
  return with_parts(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, Shape(x.shape.begin(), x.shape.end() - 1),
                           [&](std::span<T> to) { std::copy_n(from.data(), to.size(), to.begin()); });
  });
}

Status view_as_real(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 2) return call.bad("an operand that is not complex");
  Shape shape = x.shape;
  shape.push_back(2);
  return with_parts(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x);
    return give_numbers<T>(call, 0, shape,
                           [&](std::span<T> to) { std::copy_n(from.data(), to.size(), to.begin()); });
  });
}

template <class F>
Status pairwise(KernelCall& call, std::string_view first, std::string_view second, F&& f) {
  AtenCall c(call);
  const auto a = c.value(first), b = c.value(second);
  if (!a || !b) return c.bad("an operand is missing");
  const auto shape = broadcast_shapes({a->shape, b->shape});
  if (!shape) return c.bad("operands that do not broadcast");
  const auto pa = broadcast_positions(a->shape, *shape), pb = broadcast_positions(b->shape, *shape);
  return with_parts(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto x = complex_numbers<T>(*a), y = complex_numbers<T>(*b);
    std::vector<std::complex<T>> out;
    out.reserve(pa.size());
    for (std::size_t k = 0; k < pa.size(); ++k)
      out.push_back(f(x[static_cast<std::size_t>(pa[k])], y[static_cast<std::size_t>(pb[k])]));
    return give_complex(call, *shape, out);
  });
}

template <class F>
Status each(KernelCall& call, F&& f) {
  if (auto ok = call.need(1); !ok) return ok;
  return with_parts(call, call.in(0).dtype, [&](auto zero) {
    auto values = complex_numbers<decltype(zero)>(call.in(0));
    for (auto& z : values) z = f(z);
    return give_complex(call, call.in(0).shape, values);
  });
}

Status complex(KernelCall& call) {
  return pairwise(call, "real", "imag", [](auto a, auto b) { return decltype(a){a.real(), b.real()}; });
}
Status polar(KernelCall& call) {
  return pairwise(call, "abs", "angle", [](auto a, auto b) {
    return decltype(a){a.real() * std::cos(b.real()), a.real() * std::sin(b.real())};
  });
}
Status real(KernelCall& call) {
  return each(call, [](auto z) { return decltype(z){z.real()}; });
}
Status imag(KernelCall& call) {
  return each(call, [](auto z) { return decltype(z){z.imag()}; });
}
Status conj(KernelCall& call) {
  return each(call, [](auto z) { return decltype(z){z.real(), -z.imag()}; });
}
Status angle(KernelCall& call) {
  return each(call, [](auto z) { return decltype(z){std::atan2(z.imag(), z.real())}; });
}

constexpr KernelEntry entries[] = {
    {"aten.view_as_complex.default", view_as_complex},
    {"aten.view_as_real.default", view_as_real},
    {"aten.complex.default", complex},
    {"aten.polar.default", polar},
    {"aten.real.default", real},
    {"aten.imag.default", imag},
    {"aten.angle.default", angle},
    {"aten.conj.default", conj},
    {"aten._conj.default", conj},
    {"aten.conj_physical.default", conj},
    {"aten._conj_physical.default", conj},
};

}  // namespace

std::span<const KernelEntry> aten_complex_kernels() { return entries; }

Status aten_complex_binary(KernelCall& call, char op) {
  return pairwise(call, "self", "other", [op](auto a, auto b) {
    using Z = decltype(a);
    if (op == '+') return a + b;
    if (op == '-') return a - b;
    if (op == '*') return times(a, b);
    const auto square = b.real() * b.real() + b.imag() * b.imag();
    const Z top = times(a, Z{b.real(), -b.imag()});
    return Z{top.real() / square, top.imag() / square};
  });
}

Status aten_complex_unary(KernelCall& call, char op) {
  return each(call, [op](auto z) {
    using Z = decltype(z);
    if (op == '-') return -z;
    if (op == '2') return times(z, z);
    const auto square = z.real() * z.real() + z.imag() * z.imag();
    if (op == '|') return Z{std::sqrt(square)};
    if (op == '1') return Z{z.real() / square, -z.imag() / square};
    return Z{std::exp(z.real()) * std::cos(z.imag()), std::exp(z.real()) * std::sin(z.imag())};
  });
}

}  // namespace md
