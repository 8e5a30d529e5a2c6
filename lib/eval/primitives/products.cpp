#include "lib/eval/primitives/products.h"

#include "lib/eval/limits.h"
#include "lib/eval/primitives/contraction.h"
#include "lib/eval/primitives/positions.h"
#include "lib/eval/primitives/typed.h"
#include "lib/eval/primitives/wrap.h"

namespace md {
namespace {

struct Sizes {
  std::size_t m = 0, n = 0, k = 0;
};

void multiply_whole(const std::int64_t* a, const std::int64_t* b, std::int64_t* out, const Sizes& s) {
  std::fill(out, out + s.m * s.n, 0);
  for (std::size_t i = 0; i < s.m; ++i)
    for (std::size_t t = 0; t < s.k; ++t)
      for (std::size_t j = 0; j < s.n; ++j)
        out[i * s.n + j] = plus(out[i * s.n + j], times(a[i * s.k + t], b[t * s.n + j]));
}

/// The real or the imaginary parts of a matrix; the imaginary ones of real numbers are 0.
template <class T>
std::vector<T> part(const T* from, std::size_t count, std::size_t lanes, std::size_t lane) {
  std::vector<T> out(count, T(0));
  if (lane < lanes)
    for (std::size_t i = 0; i < count; ++i) out[i] = from[i * lanes + lane];
  return out;
}

/// Four real products.
template <class T>
void multiply_complex(KernelCall& call, const T* a, std::size_t a_lanes, const T* b, std::size_t b_lanes,
                      T* out, const Sizes& s) {
  const auto ar = part(a, s.m * s.k, a_lanes, 0), ai = part(a, s.m * s.k, a_lanes, 1),
             br = part(b, s.k * s.n, b_lanes, 0), bi = part(b, s.k * s.n, b_lanes, 1);
  std::vector<T> one(s.m * s.n), two(s.m * s.n);
  const auto into = [&](const std::vector<T>& x, const std::vector<T>& y, std::vector<T>& to) {
    contract_plain<T>(call, x.data(), s.k, y.data(), s.n, to.data(), s.n, s.m, s.n, s.k);
  };
  into(ar, br, one), into(ai, bi, two);
  for (std::size_t i = 0; i < one.size(); ++i) out[2 * i] = one[i] - two[i];
  into(ar, bi, one), into(ai, br, two);
  for (std::size_t i = 0; i < one.size(); ++i) out[2 * i + 1] = one[i] + two[i];
}

template <class T>
void multiply_batches(KernelCall& call, const Tensor& a, const Tensor& b, std::span<const std::int64_t> at_a,
                      std::span<const std::int64_t> at_b, const Sizes& s, std::size_t lanes,
                      std::span<T> out) {
  const As<T> x(a), y(b);
  const auto la = static_cast<std::size_t>(a.lanes()), lb = static_cast<std::size_t>(b.lanes());
  for (std::size_t p = 0; p < at_a.size(); ++p) {
    const T* left = x.data() + static_cast<std::size_t>(at_a[p]) * s.m * s.k * la;
    const T* right = y.data() + static_cast<std::size_t>(at_b[p]) * s.k * s.n * lb;
    T* to = out.data() + p * s.m * s.n * lanes;
    if constexpr (std::is_integral_v<T>)
      multiply_whole(left, right, to, s);
    else if (lanes == 2)
      multiply_complex<T>(call, left, la, right, lb, to, s);
    else
      contract_plain<T>(call, left, s.k, right, s.n, to, s.n, s.m, s.n, s.k);
  }
}

}  // namespace

Result<Tensor> batched_product(KernelCall& call, const Tensor& a, const Tensor& b, DType dtype) {
  if (a.rank() < 2 || b.rank() < 2) return call.bad("operands of too small a rank");
  const Shape batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
  const auto batch = broadcast_shapes({batch_a, batch_b});
  if (!batch || b.shape[b.shape.size() - 2] != a.shape.back())
    return call.bad(fmt::format("{} times {}", shape_text(a.shape), shape_text(b.shape)));
  const std::int64_t m = a.shape[a.shape.size() - 2], n = b.shape.back();
  Sizes s{static_cast<std::size_t>(m), static_cast<std::size_t>(n), static_cast<std::size_t>(a.shape.back())};
  Shape shape = *batch;
  shape.push_back(m), shape.push_back(n);
  auto out = call.make(dtype, shape);
  if (!out) return out;
  if (a.lanes() + b.lanes() > 2 && out->lanes() == 1) return call.unsupported("from complex to real");
  const auto lanes = static_cast<std::size_t>(out->lanes());
  auto at_a = broadcast_positions(batch_a, *batch), at_b = broadcast_positions(batch_b, *batch);
  if (product(batch_b) == 1 && batch_a == *batch) {  // one matrix for all: one product
    s.m *= at_a.size();
    at_a = {0}, at_b = {0};
  }
  const bool watched = call.options.watch_sums || call.mode().sums_in_f16();
  if (auto fits = charge(call, static_cast<double>(at_a.size()) * static_cast<double>(s.m * s.n) *
                                   static_cast<double>(s.k) * (watched ? 4 : 1));
      !fits)
    return tl::make_unexpected(fits.error());
  const auto with = [&](auto zero) {
    using T = decltype(zero);
    fill_tensor<T>(*out, [&](std::span<T> to) { multiply_batches<T>(call, a, b, at_a, at_b, s, lanes, to); });
  };
  if (lanes == 2)
    store_of(dtype, call.wide()) == Store::f64 ? with(double{}) : with(float{});
  else
    with_arithmetic(call, dtype, with);
  return out;
}

Result<Tensor> matrix_product(KernelCall& call, const Tensor& a, const Tensor& b, DType dtype) {
  Shape left = a.shape, right = b.shape;
  if (left.empty() || right.empty()) return call.bad("operands of rank 0");
  const bool row = left.size() == 1, column = right.size() == 1;
  if (row) left.insert(left.begin(), 1);
  if (column) right.push_back(1);
  auto out = batched_product(call, row ? a.reshaped(left) : a, column ? b.reshaped(right) : b, dtype);
  if (!out || (!row && !column)) return out;
  Shape shape = out->shape;
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  out->shape = std::move(shape);
  return out;
}

}  // namespace md
