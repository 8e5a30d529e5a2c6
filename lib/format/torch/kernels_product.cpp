// Kernels of aten matrix products: mm, bmm, matmul, linear, addmm and their like, einsum.
#include "lib/eval/limits.h"
#include "lib/eval/primitives/broadcast.h"
#include "lib/eval/primitives/contraction.h"
#include "lib/eval/primitives/products.h"
#include "lib/eval/primitives/reduction.h"
#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

Status matmul(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  auto out = matrix_product(call, call.in(0), call.in(1), call.out_value().dtype);
  if (!out) return tl::make_unexpected(out.error());
  call.outputs[0] = std::move(*out);
  return {};
}

Status linear(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("input"), *w = c.operand("weight"), *bias = c.operand("bias");
  if (!x || !w || w->rank() != 2 || x->rank() < 1 || x->shape.back() != w->shape[1])
    return c.bad("operands that do not fit");
  const auto n = static_cast<std::size_t>(w->shape[0]), k = static_cast<std::size_t>(w->shape[1]);
  if (x->lanes() != 1 || w->lanes() != 1 || !is_float(call.out_value().dtype))
    return call.unsupported("on these types");
  if (bias && bias->size() != n) return c.bad("a bias that does not fit");
  Shape shape = x->shape;
  shape.back() = w->shape[0];
  const std::size_t m = n ? static_cast<std::size_t>(product(shape)) / n : 0;
  if (auto fits = charge(call, static_cast<double>(m * n) * static_cast<double>(k)); !fits) return fits;
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> a(*x), b(*w);
    std::optional<As<T>> added;
    if (bias) added.emplace(*bias);
    return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
      contract<T>(call, a.data(), b.data(), added ? added->span() : std::span<const T>(), to.data(), n, m, n,
                  k);
    });
  });
}

/// beta * self + alpha * (a times b); `self` is broadcast to the product.
Status added_product(KernelCall& call, std::string_view a, std::string_view b) {
  AtenCall c(call);
  const Tensor *self = c.operand("self"), *x = c.operand(a), *w = c.operand(b);
  const DType dtype = call.out_value().dtype;
  if (!x || !w || !self || self->lanes() != 1 || !is_float(dtype))
    return call.unsupported("with these operands");
  auto made = matrix_product(call, *x, *w, dtype);
  if (!made) return tl::make_unexpected(made.error());
  const Tensor& multiplied = *made;
  if (broadcast_shapes({self->shape, multiplied.shape}) != std::optional(multiplied.shape))
    return c.bad("a sum that does not fit");
  const double alpha = c.number("alpha", 1), beta = c.number("beta", 1);
  return with_floats(call, dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> s(*self), p(multiplied);
    const Shape* shapes[] = {&multiplied.shape, &self->shape};
    const BroadcastPlan plan(multiplied.shape, shapes);
    return give_numbers<T>(call, 0, multiplied.shape, [&](std::span<T> to) {
      plan.each_row([&](std::size_t at, std::size_t n, const auto& offset, const auto& step) {
        for (std::size_t i = 0; i < n; ++i) {
          T v = p[offset[0] + i * step[0]];
          if (alpha != 1) v *= static_cast<T>(alpha);
          const T addend = s[offset[1] + i * step[1]];
          to[at + i] = beta == 1 ? v + addend : beta == 0 ? v : v + addend * static_cast<T>(beta);
        }
      });
    });
  });
}
Status addmm(KernelCall& call) { return added_product(call, "mat1", "mat2"); }
Status baddbmm(KernelCall& call) { return added_product(call, "batch1", "batch2"); }
Status addmv(KernelCall& call) { return added_product(call, "mat", "vec"); }

/// An operand of einsum with a letter for each of its axes.
struct Term {
  std::string letters;
  Tensor tensor;
};

/// The axes in the order of `letters`; letters that the term lacks get size 1.
Result<Tensor> arranged(KernelCall& call, const Term& term, const std::string& letters) {
  View view;
  const auto strides = strides_of(term.tensor.shape);
  for (const char letter : letters) {
    const std::size_t d = term.letters.find(letter);
    view.dims.push_back(d == std::string::npos ? 1 : term.tensor.shape[d]);
    view.steps.push_back(d == std::string::npos ? 0 : strides[d]);
  }
  auto out = call.make(term.tensor.dtype, view.dims);
  if (!out) return out;
  if (out->element_bytes() != term.tensor.element_bytes()) return call.unsupported("on these types");
  read_view(term.tensor, view, *out);
  return out;
}

/// A letter twice in one term walks a diagonal: not here.
bool repeats(const std::string& letters) {
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (letters.find(letters[i], i + 1) != std::string::npos) return true;
  return false;
}

/// Two terms to one, over the letters that nobody needs any more: a batched product.
Result<Term> contracted(KernelCall& call, const Term& a, const Term& b, const std::string& needed) {
  std::string batch, left, right, summed;
  Shape batch_dims, dims;
  for (const char l : a.letters) {
    const bool both = b.letters.find(l) != std::string::npos, kept = needed.find(l) != std::string::npos;
    (both ? (kept ? batch : summed) : kept ? left : summed) += l;
  }
  for (const char l : b.letters)
    if (a.letters.find(l) == std::string::npos) (needed.find(l) != std::string::npos ? right : summed) += l;
  const auto size_of = [](const Term& t, char l) {
    const std::size_t d = t.letters.find(l);
    return d == std::string::npos ? std::int64_t{1} : t.tensor.shape[d];
  };
  std::int64_t m = 1, n = 1, ka = 1, kb = 1;
  Shape lead_a, lead_b, shape;
  for (const char l : batch) {
    lead_a.push_back(size_of(a, l)), lead_b.push_back(size_of(b, l));
    shape.push_back(std::max(lead_a.back(), lead_b.back()));
  }
  for (const char l : left) m *= size_of(a, l), shape.push_back(size_of(a, l));
  for (const char l : right) n *= size_of(b, l), shape.push_back(size_of(b, l));
  for (const char l : summed) {
    if (size_of(a, l) != size_of(b, l) && a.letters.find(l) != std::string::npos &&
        b.letters.find(l) != std::string::npos)
      return call.unsupported("with a broadcast sum");
    ka *= size_of(a, l), kb *= size_of(b, l);
  }
  if (ka != kb) return call.unsupported("with a sum over one operand alone");
  auto x = arranged(call, a, batch + left + summed), y = arranged(call, b, batch + summed + right);
  if (!x) return tl::make_unexpected(x.error());
  if (!y) return tl::make_unexpected(y.error());
  lead_a.push_back(m), lead_a.push_back(ka), lead_b.push_back(kb), lead_b.push_back(n);
  auto made = batched_product(call, x->reshaped(lead_a), y->reshaped(lead_b), call.out_value().dtype);
  if (!made) return tl::make_unexpected(made.error());
  made->shape = shape;
  return Term{batch + left + right, std::move(*made)};
}

/// A term's axes that the result has not are summed.
Result<Term> summed(KernelCall& call, const Term& term, const std::string& needed) {
  std::vector<bool> gone;
  std::string kept;
  for (const char l : term.letters) {
    gone.push_back(needed.find(l) == std::string::npos);
    if (!gone.back()) kept += l;
  }
  if (kept.size() == term.letters.size()) return term;
  if (term.tensor.lanes() != 1 || !term.tensor.is_float()) return call.unsupported("with this sum");
  const Reduction r = reduction_over(term.tensor.shape, gone, false);
  auto out = call.make(term.tensor.dtype, r.shape);
  if (!out) return tl::make_unexpected(out.error());
  with_floats(call, term.tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(term.tensor);
    fill_tensor<T>(*out, [&](std::span<T> to) {
      ModeSum sum(call, false);
      each_result(r, [&](std::size_t i, std::int64_t first) {
        to[i] = sum.of<T>(
            r.length(), [&](std::size_t k) { return from[static_cast<std::size_t>(first + r.offsets[k])]; });
      });
    });
  });
  return Term{kept, std::move(*out)};
}

/// einsum, operand by operand from the left; no ellipsis.
Status einsum(KernelCall& call) {
  AtenCall c(call);
  std::string equation(call.attrs().text("equation"));
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const auto tensors = c.operands("tensors");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos || tensors.empty())
    return call.unsupported("with this equation");
  const std::string result = equation.substr(arrow + 2);
  std::vector<std::string> letters(1);
  for (const char letter : equation.substr(0, arrow)) {
    if (letter == ',')
      letters.emplace_back();
    else
      letters.back().push_back(letter);
  }
  if (letters.size() != tensors.size()) return c.bad("another number of operands than terms");
  std::vector<Term> terms;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (!tensors[i] || letters[i].size() != tensors[i]->shape.size())
      return c.bad("operands that do not fit the equation");
    if (repeats(letters[i])) return call.unsupported("with a letter twice in a term");
    terms.push_back({letters[i], *tensors[i]});
  }
  Term so_far = terms[0];
  for (std::size_t i = 1; i <= terms.size(); ++i) {
    std::string needed = result;
    for (std::size_t k = i; k < terms.size(); ++k) needed += terms[k].letters;
    auto own = summed(call, so_far, needed);
    if (!own) return tl::make_unexpected(own.error());
    so_far = std::move(*own);
    if (i == terms.size()) break;
    needed = result;
    for (std::size_t k = i + 1; k < terms.size(); ++k) needed += terms[k].letters;
    auto other = summed(call, terms[i], needed + so_far.letters);
    if (!other) return tl::make_unexpected(other.error());
    auto next = contracted(call, so_far, *other, needed);
    if (!next) return tl::make_unexpected(next.error());
    so_far = std::move(*next);
  }
  auto out = arranged(call, so_far, result);
  if (!out) return tl::make_unexpected(out.error());
  return c.give_cast(*out);
}

constexpr KernelEntry entries[] = {
    {"aten.matmul.default", matmul}, {"aten.mm.default", matmul},   {"aten.bmm.default", matmul},
    {"aten.mv.default", matmul},     {"aten.dot.default", matmul},  {"aten.linear.default", linear},
    {"aten.addmm.default", addmm},   {"aten.addmv.default", addmv}, {"aten.baddbmm.default", baddbmm},
    {"aten.einsum.default", einsum},
};

}  // namespace

std::span<const KernelEntry> aten_product_kernels() { return entries; }

}  // namespace md
