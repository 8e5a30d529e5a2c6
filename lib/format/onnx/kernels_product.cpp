// Kernels of matrix products: MatMul, Gemm, Einsum, products of quantized integers, determinants.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "lib/eval/limits.h"
#include "lib/eval/primitives/broadcast.h"
#include "lib/eval/primitives/functions.h"
#include "lib/eval/primitives/products.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;
using onnx::Numbers;

Status give_as(KernelCall& call, const Tensor& made) {
  if (made.dtype == call.out_value().dtype) {
    call.outputs[0] = made;
    return {};
  }
  auto out = call.make_output(0, made.shape);
  if (!out) return tl::make_unexpected(out.error());
  cast_elements(made, *out);
  call.outputs[0] = std::move(*out);
  return {};
}

Status matmul(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  auto out = matrix_product(call, call.in(0), call.in(1), call.in(0).dtype);
  if (!out) return tl::make_unexpected(out.error());
  call.outputs[0] = std::move(*out);
  return {};
}

/// The last two axes exchanged.
Result<Tensor> turned(KernelCall& call, const Tensor& x) {
  if (x.rank() < 2) return x;
  Numbers perm(x.shape.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return onnx::transposed(call, x, perm);
}

/// alpha * product + beta * c, c broadcast to it.
Status scaled_sum(KernelCall& call, const Tensor& made, const Tensor* c, double alpha, double beta) {
  if (c && broadcast_shapes({c->shape, made.shape}) != std::optional(made.shape))
    return call.bad("a sum that does not fit");
  return with_arithmetic(call, made.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> p(made);
    std::optional<As<T>> addend;
    if (c) addend.emplace(*c);
    const Shape scalar;
    const Shape* shapes[] = {&made.shape, c ? &c->shape : &scalar};
    const BroadcastPlan plan(made.shape, shapes);
    const T a = static_cast<T>(alpha), b = static_cast<T>(beta);
    return give_numbers<T>(call, 0, made.shape, [&](std::span<T> to) {
      plan.each_row([&](std::size_t first, std::size_t n, const auto& offset, const auto& step) {
        for (std::size_t i = 0; i < n; ++i) {
          T v = p[offset[0] + i * step[0]];
          if (alpha != 1) v = times(v, a);
          if (addend) {
            const T w = (*addend)[offset[1] + i * step[1]];
            v = plus(v, beta == 1 ? w : times(w, b));
          }
          to[first + i] = v;
        }
      });
    });
  });
}

Status gemm(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  if (call.in(0).rank() != 2 || call.in(1).rank() != 2) return call.bad("expected matrices");
  auto a = call.attrs().flag("transA") ? turned(call, call.in(0)) : Result<Tensor>(call.in(0));
  auto b = call.attrs().flag("transB") ? turned(call, call.in(1)) : Result<Tensor>(call.in(1));
  if (!a) return tl::make_unexpected(a.error());
  if (!b) return tl::make_unexpected(b.error());
  const auto made = matrix_product(call, *a, *b, call.in(0).dtype);
  if (!made) return tl::make_unexpected(made.error());
  const double alpha = onnx::real(call, "alpha", 1), beta = onnx::real(call, "beta", 1);
  if (auto ok = scaled_sum(call, *made, call.has(2) ? &call.in(2) : nullptr, alpha, beta); !ok) return ok;
  const std::string_view activation = call.attrs().text("activation", "");
  if (activation.empty()) return {};
  if (activation != "Relu") return call.unsupported("with this activation");
  Tensor& out = call.outputs[0];
  with_store(out.store(), [&](auto zero) {
    for (auto& v : out.mutable_data<decltype(zero)>()) v = v < 0 ? 0 : v;
  });
  return {};
}

Status fused_matmul(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  if (call.attrs().flag("transBatchA") || call.attrs().flag("transBatchB"))
    return call.unsupported("with moved batches");
  auto a = call.attrs().flag("transA") ? turned(call, call.in(0)) : Result<Tensor>(call.in(0));
  auto b = call.attrs().flag("transB") ? turned(call, call.in(1)) : Result<Tensor>(call.in(1));
  if (!a) return tl::make_unexpected(a.error());
  if (!b) return tl::make_unexpected(b.error());
  const auto made = matrix_product(call, *a, *b, call.in(0).dtype);
  if (!made) return tl::make_unexpected(made.error());
  return scaled_sum(call, *made, nullptr, onnx::real(call, "alpha", 1), 0);
}

// --- integers with zero points

/// x - zero, as 64-bit integers; the zero point is one number, or one a row (`row`: of the second axis from
/// the end) or column.
Result<Tensor> shifted(KernelCall& call, const Tensor& x, const Tensor* zero, bool row) {
  auto out = call.make(DType::i64, x.shape);
  if (!out) return out;
  const As<std::int64_t> from(x);
  auto to = out->mutable_data<std::int64_t>();
  const std::size_t n = zero ? zero->size() : 0;
  const std::int64_t last = x.rank() ? x.shape.back() : 1;
  const std::int64_t rows = x.rank() > 1 ? x.shape[x.shape.size() - 2] : 1;
  if (n > 1 && static_cast<std::int64_t>(n) != (row ? rows : last) &&
      n != x.size() / std::max<std::size_t>(at(row ? last : rows), 1))
    return call.bad("zero points that do not fit");
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::size_t k = 0;
    if (n > 1)
      k = (row ? i / at(last) : i % at(last) + (n > at(last) ? i / at(last * rows) * at(last) : 0)) % n;
    to[i] = from[i] - (n ? zero->integer(k) : 0);
  }
  return out;
}

Result<Tensor> integer_product(KernelCall& call, std::size_t a, std::size_t a_zero, std::size_t b,
                               std::size_t b_zero) {
  if (!call.has(a) || !call.has(b)) return call.bad("an operand is missing");
  const auto x = shifted(call, call.in(a), call.has(a_zero) ? &call.in(a_zero) : nullptr, true),
             y = shifted(call, call.in(b), call.has(b_zero) ? &call.in(b_zero) : nullptr, false);
  if (!x) return x;
  if (!y) return y;
  return matrix_product(call, *x, *y, DType::i64);
}

Status matmul_integer(KernelCall& call) {
  const auto made = integer_product(call, 0, 2, 1, 3);
  if (!made) return tl::make_unexpected(made.error());
  return give_as(call, *made);
}

Status qlinear_matmul(KernelCall& call) {
  if (auto ok = call.need(8); !ok) return ok;
  const auto made = integer_product(call, 0, 2, 3, 5);
  if (!made) return tl::make_unexpected(made.error());
  const Tensor &as = call.in(1), &bs = call.in(4), &ys = call.in(6);
  if (as.size() == 0 || bs.size() == 0 || ys.size() == 0) return call.bad("no scale");
  const std::int64_t columns = made->rank() ? made->shape.back() : 1,
                     rows = made->rank() > 1 ? made->shape[made->shape.size() - 2] : 1;
  const auto pick = [&](const Tensor& scale, std::size_t i, bool row) {
    if (scale.size() == 1) return scale.number(0);
    const std::size_t k =
        row ? i / at(std::max<std::int64_t>(columns, 1)) % at(std::max<std::int64_t>(rows, 1))
            : i % at(std::max<std::int64_t>(columns, 1));
    return scale.number(std::min(k, scale.size() - 1));
  };
  auto out = call.make_output(0, made->shape);
  if (!out) return tl::make_unexpected(out.error());
  const bool has_sign = is_signed(out->dtype);
  const double low = has_sign ? -128 : 0, high = has_sign ? 127 : 255,
               zero = call.in(7).size() ? call.in(7).number(0) : 0;
  std::vector<double> numbers(made->size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double v = made->number(i) * (pick(as, i, true) * pick(bs, i, false) / ys.number(0));
    numbers[i] = std::clamp(std::nearbyint(v) + zero, low, high);
  }
  cast_numbers(std::span<const double>(numbers), *out);
  call.outputs[0] = std::move(*out);
  return {};
}

// --- einsum

struct Term {
  std::string letters;  ///< an axis each; dimensions of "..." get letters past 'z'
  Tensor tensor;
};

/// Sums of products over all letters that the result does not name, one after the other.
template <class T>
void contract_all(KernelCall& call, const std::vector<Term>& terms, const std::string& result,
                  const std::map<char, std::int64_t>& sizes, std::span<T> to) {
  std::string summed;
  for (const auto& [letter, size] : sizes)
    if (result.find(letter) == std::string::npos) summed += letter;
  const std::string all = result + summed;
  Shape dims, kept;
  for (const char l : all) dims.push_back(sizes.at(l));
  for (const char l : result) kept.push_back(sizes.at(l));
  std::vector<std::vector<std::int64_t>> steps;
  std::vector<std::unique_ptr<As<T>>> data;
  for (const Term& term : terms) {
    const auto strides = strides_of(term.tensor.shape);
    std::vector<std::int64_t> step(all.size(), 0);
    for (std::size_t d = 0; d < term.letters.size(); ++d)
      if (term.tensor.shape[d] != 1) step[all.find(term.letters[d])] += strides[d];
    steps.push_back(std::move(step));
    data.push_back(std::make_unique<As<T>>(term.tensor));
  }
  std::fill(to.begin(), to.end(), T(0));
  const std::int64_t inner = product(std::span<const std::int64_t>(dims).subspan(result.size()));
  std::size_t k = 0;
  for_each_index(dims, [&](const Numbers& index) {
    T v = T(1);
    for (std::size_t t = 0; t < terms.size(); ++t) {
      std::int64_t p = 0;
      for (std::size_t d = 0; d < index.size(); ++d) p += index[d] * steps[t][d];
      v = times(v, (*data[t])[at(p)]);
    }
    T& sum = to[k++ / at(std::max<std::int64_t>(inner, 1))];
    sum = plus(sum, v);
    if constexpr (std::is_same_v<T, float>)
      if (call.mode().sums_in_f16()) sum = round_to_f16(sum, call.mode().saturate);
    if constexpr (std::is_floating_point_v<T>)
      if (call.options.watch_sums) call.watch(static_cast<double>(sum));
  });
}

/// Two terms whose letters are a batch, rows, columns and a sum: one batched product. nullopt: they are not.
Result<std::optional<Tensor>> as_product(KernelCall& call, const std::vector<Term>& terms,
                                         const std::string& result,
                                         const std::map<char, std::int64_t>& sizes) {
  const std::optional<Tensor> none;
  if (terms.size() != 2) return none;
  for (std::size_t i = 0; i < result.size(); ++i)
    if (result.find(result[i], i + 1) != std::string::npos) return none;
  const std::string &a = terms[0].letters, &b = terms[1].letters;
  std::string batch, rows, columns, summed;
  for (const Term& term : terms)
    for (std::size_t d = 0; d < term.letters.size(); ++d)
      if (term.letters.find(term.letters[d], d + 1) != std::string::npos ||
          term.tensor.shape[d] != sizes.at(term.letters[d]))
        return none;
  for (const char l : a) {
    const bool both = b.find(l) != std::string::npos, kept = result.find(l) != std::string::npos;
    if (!both && !kept) return none;
    (both ? (kept ? batch : summed) : rows) += l;
  }
  for (const char l : b)
    if (a.find(l) == std::string::npos) {
      if (result.find(l) == std::string::npos) return none;
      columns += l;
    }
  const auto arranged = [&](const Term& term, const std::string& order, Shape shape) -> Result<Tensor> {
    Numbers perm;
    for (const char l : order) perm.push_back(static_cast<std::int64_t>(term.letters.find(l)));
    auto made = onnx::transposed(call, term.tensor, perm);
    return made ? Result<Tensor>(made->reshaped(std::move(shape))) : made;
  };
  const auto count = [&](const std::string& letters) {
    std::int64_t n = 1;
    for (const char l : letters) n *= sizes.at(l);
    return n;
  };
  const auto x = arranged(terms[0], batch + rows + summed, {count(batch), count(rows), count(summed)}),
             y = arranged(terms[1], batch + summed + columns, {count(batch), count(summed), count(columns)});
  if (!x) return tl::make_unexpected(x.error());
  if (!y) return tl::make_unexpected(y.error());
  const auto made = batched_product(call, *x, *y, call.in(0).dtype);
  if (!made) return tl::make_unexpected(made.error());
  const std::string order = batch + rows + columns;
  Shape dims;
  for (const char l : order) dims.push_back(sizes.at(l));
  Numbers perm;
  for (const char l : result) perm.push_back(static_cast<std::int64_t>(order.find(l)));
  auto out = onnx::transposed(call, made->reshaped(std::move(dims)), perm);
  if (!out) return tl::make_unexpected(out.error());
  return std::optional(std::move(*out));
}

Status einsum(KernelCall& call) {
  if (auto ok = call.need(call.count()); !ok) return ok;
  std::string text;
  for (const char c : call.attrs().text("equation"))
    if (c != ' ') text += c;
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  std::vector<Term> terms;
  std::map<char, std::int64_t> sizes;
  std::map<char, int> seen;
  std::size_t dots_rank = 0;
  std::vector<std::pair<std::string, bool>> written;
  for (std::size_t i = 0; i < call.count(); ++i) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::string term = left.substr(0, comma);
    left.erase(0, std::min(comma + 1, left.size()));
    const std::size_t dots = term.find("..."), named = term.size() - (dots == std::string::npos ? 0 : 3);
    const std::size_t rank = call.in(i).shape.size();
    if (named > rank || (dots == std::string::npos && named != rank))
      return call.bad("a term of another rank");
    if (dots != std::string::npos) dots_rank = std::max(dots_rank, rank - named);
    written.emplace_back(term, dots != std::string::npos);
  }
  if (dots_rank > 60) return call.unsupported("of this rank");
  const auto dot_letter = [&](std::size_t d) { return static_cast<char>('z' + 1 + static_cast<int>(d)); };
  for (std::size_t i = 0; i < call.count(); ++i) {
    const auto& [term, dotted] = written[i];
    const std::size_t extra = dotted ? call.in(i).shape.size() - (term.size() - 3) : 0;
    std::string letters;
    for (std::size_t c = 0; c < term.size(); ++c) {
      if (dotted && term.compare(c, 3, "...") == 0) {
        for (std::size_t d = dots_rank - extra; d < dots_rank; ++d) letters += dot_letter(d);
        c += 2;
      } else {
        if (!std::isalpha(static_cast<unsigned char>(term[c])))
          return call.bad("an equation with this character");
        letters += term[c], ++seen[term[c]];
      }
    }
    for (std::size_t d = 0; d < letters.size(); ++d) {
      auto [found, added] = sizes.emplace(letters[d], call.in(i).shape[d]);
      if (!added && found->second == 1) found->second = call.in(i).shape[d];
      if (found->second != call.in(i).shape[d] && call.in(i).shape[d] != 1)
        return call.bad("sizes that do not fit");
    }
    terms.push_back({letters, call.in(i)});
  }
  std::string result;
  const auto add_dots = [&] {
    for (std::size_t d = 0; d < dots_rank; ++d) result += dot_letter(d);
  };
  if (arrow == std::string::npos) {
    add_dots();
    for (const auto& [letter, count] : seen)
      if (count == 1) result += letter;
  } else {
    const std::string right = text.substr(arrow + 2);
    for (std::size_t c = 0; c < right.size(); ++c)
      if (right.compare(c, 3, "...") == 0)
        add_dots(), c += 2;
      else
        result += right[c];
  }
  Shape shape;
  for (const char l : result) {
    if (!sizes.count(l)) return call.bad("a result with a letter that no operand has");
    shape.push_back(sizes[l]);
  }
  auto made = as_product(call, terms, result, sizes);
  if (!made) return tl::make_unexpected(made.error());
  if (*made) {
    call.outputs[0] = std::move(**made);
    return {};
  }
  double work = 1;
  for (const auto& [letter, size] : sizes) work *= static_cast<double>(std::max<std::int64_t>(size, 1));
  if (auto fits = charge(call, work * static_cast<double>(terms.size()) * 8); !fits) return fits;
  return with_arithmetic(call, call.in(0).dtype, [&](auto zero) {
    using T = decltype(zero);
    return give_numbers<T>(call, 0, shape,
                           [&](std::span<T> to) { contract_all<T>(call, terms, result, sizes, to); });
  });
}

Status det(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.rank() < 2 || x.shape.back() != x.shape[x.shape.size() - 2])
    return call.bad("expected square matrices");
  const auto n = at(x.shape.back());
  const Shape shape(x.shape.begin(), x.shape.end() - 2);
  std::vector<double> out;
  for (std::size_t m = 0; m < at(product(shape)); ++m) {
    std::vector<double> a(n * n);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = x.number(m * n * n + i);
    double value = 1;
    for (std::size_t k = 0; k < n && value != 0; ++k) {
      std::size_t pivot = k;
      for (std::size_t i = k + 1; i < n; ++i)
        if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
      if (pivot != k) {
        std::swap_ranges(a.begin() + static_cast<std::ptrdiff_t>(k * n),
                         a.begin() + static_cast<std::ptrdiff_t>((k + 1) * n),
                         a.begin() + static_cast<std::ptrdiff_t>(pivot * n));
        value = -value;
      }
      value *= a[k * n + k];
      for (std::size_t i = k + 1; i < n && value != 0; ++i)
        for (std::size_t j = n; j-- > k;) a[i * n + j] -= a[i * n + k] / a[k * n + k] * a[k * n + j];
    }
    out.push_back(value);
  }
  return onnx::give(call, 0, shape, out);
}

constexpr KernelEntry entries[] = {
    {"Det", det},
    {"Einsum", einsum},
    {"Gemm", gemm},
    {"MatMul", matmul},
    {"MatMulInteger", matmul_integer},
    {"QLinearMatMul", qlinear_matmul},
    {"com.microsoft.FusedGemm", gemm, 0, false, "com.microsoft"},
    {"com.microsoft.FusedMatMul", fused_matmul, 0, false, "com.microsoft"},
    {"com.microsoft.TransposeMatMul", fused_matmul, 0, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_product_kernels() { return entries; }

}  // namespace md
