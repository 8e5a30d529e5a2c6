// Elementwise aten operators of two operands: types promoted by torch's rules, shapes broadcast, one function
// in the arithmetic of the common type.
#pragma once
#include "lib/eval/primitives/broadcast.h"
#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/call.h"

namespace md {

struct Pair {
  AtenInput a, b;
  Shape shape;
  DType common = DType::unknown;
};

/// The operands "self" and "other" (or as named); errors say what is missing or does not fit.
Result<Pair> real_pair(KernelCall& call, std::string_view first = "self", std::string_view second = "other");

/// out = f(a, b), computed in the common type; whole numbers in floats where the result is one (true
/// division). F takes two of the same type: float, double or std::int64_t.
template <class F>
Status zip_pair(KernelCall& call, const Pair& pair, F&& f) {
  const DType out = call.out_value().dtype;
  const DType computed = is_float(pair.common) || !is_float(out) ? pair.common : out;
  return with_arithmetic(call, computed, [&](auto zero) {
    using T = decltype(zero);
    const As<T> a(pair.a.tensor), b(pair.b.tensor);
    return give_numbers<T>(call, 0, pair.shape, [&](std::span<T> to) {
      broadcast_binary<T, T>(a.span(), pair.a.tensor.shape, b.span(), pair.b.tensor.shape, to, pair.shape, f);
    });
  });
}

/// out = f(a, b) is true; results of another type than bool get 0 and 1.
template <class F>
Status compare_pair(KernelCall& call, const Pair& pair, F&& f) {
  return with_arithmetic(call, pair.common, [&](auto zero) {
    using T = decltype(zero);
    const As<T> a(pair.a.tensor), b(pair.b.tensor);
    auto out = call.make_output(0, pair.shape);
    if (!out) return Status(tl::make_unexpected(out.error()));
    std::vector<std::uint8_t> own;
    const bool marks = out->store() == Store::u8;
    if (!marks) own.resize(out->size());
    const std::span<std::uint8_t> to =
        marks ? out->template mutable_data<std::uint8_t>() : std::span<std::uint8_t>(own);
    broadcast_binary<T, std::uint8_t>(a.span(), pair.a.tensor.shape, b.span(), pair.b.tensor.shape, to,
                                      pair.shape, [&](T x, T y) { return std::uint8_t{f(x, y)}; });
    if (!marks) cast_numbers(std::span<const std::uint8_t>(own), *out);
    call.outputs[0] = std::move(*out);
    return Status{};
  });
}

}  // namespace md
