// Tensors as arrays of one C++ type, whatever they are stored as, and casts between element types.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/eval/kernel.h"

namespace md {

/// All stored numbers of a tensor as T: where they lie when they are stored so, else converted once. The
/// tensor must outlive it.
template <class T>
class As {
 public:
  explicit As(const Tensor& tensor) {
    if (tensor.store() == store_for<T>()) {
      view_ = tensor.data<T>();
      return;
    }
    with_store(tensor.store(), [&](auto zero) {
      const auto from = tensor.data<decltype(zero)>();
      own_.resize(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) own_[i] = static_cast<T>(from[i]);
    });
    view_ = own_;
  }
  As(const As&) = delete;
  As& operator=(const As&) = delete;
  const T* data() const { return view_.data(); }
  std::size_t size() const { return view_.size(); }
  T operator[](std::size_t i) const { return view_[i]; }
  std::span<const T> span() const { return view_; }

 private:
  std::span<const T> view_;
  std::vector<T> own_;
};

/// Calls f with a zero of the type that floats of `dtype` are computed in (float for 16-bit ones, double for
/// f64 and for the judge), or of 64-bit integers for whole numbers and marks.
template <class F>
decltype(auto) with_arithmetic(const KernelCall& call, DType dtype, F&& f) {
  if (!is_float(dtype)) return f(std::int64_t{});
  return store_of(dtype, call.wide()) == Store::f64 ? f(double{}) : f(float{});
}

/// The same for floats alone; whole numbers are computed in float.
template <class F>
decltype(auto) with_floats(const KernelCall& call, DType dtype, F&& f) {
  const DType real = is_float(dtype) ? dtype : DType::f32;
  return store_of(real, call.wide()) == Store::f64 ? f(double{}) : f(float{});
}

/// One number in the range and precision of an element type: integers wrap, marks are 0 and 1, floats go to
/// integers towards zero (NaN and infinities to 0). 16-bit floats are rounded where the evaluator rounds
/// results.
template <class To, class From>
To cast_number(From v, DType to) {
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(v);
  } else {
    if (to == DType::boolean) return static_cast<To>(v != From(0));
    std::int64_t n = 0;
    if constexpr (std::is_floating_point_v<From>) {
      if (!(std::abs(v) < From(9.2e18))) return To(0);
      n = static_cast<std::int64_t>(v);
    } else {
      n = static_cast<std::int64_t>(v);
    }
    const int bits = bit_width(to);
    if (bits > 0 && bits < 64) {
      const auto raw = static_cast<std::uint64_t>(n);
      n = is_signed(to) ? static_cast<std::int64_t>(raw << (64 - bits)) >> (64 - bits)
                        : static_cast<std::int64_t>(raw & ((std::uint64_t{1} << bits) - 1));
    }
    return static_cast<To>(n);
  }
}

/// `to` (made for its type) = the numbers of `from`, cast.
template <class From>
void cast_numbers(std::span<const From> from, Tensor& to) {
  with_store(to.store(), [&](auto zero) {
    using To = decltype(zero);
    auto out = to.mutable_data<To>();
    if (out.size() != from.size()) fault_size(from.size(), out.size());
    for (std::size_t i = 0; i < from.size(); ++i) out[i] = cast_number<To>(from[i], to.dtype);
  });
}
inline void cast_elements(const Tensor& from, Tensor& to) {
  with_store(from.store(), [&](auto zero) { cast_numbers(from.data<decltype(zero)>(), to); });
}

/// Writes a tensor from numbers in the arithmetic's type T: `fill` gives them, a cast follows where the
/// tensor's type is another one.
template <class T, class Fill>
void fill_tensor(Tensor& out, Fill&& fill) {
  if (out.store() == store_for<T>() && (std::is_floating_point_v<T> || bit_width(out.dtype) == 64)) {
    fill(out.mutable_data<T>());
  } else {
    std::vector<T> numbers(out.size() * static_cast<std::size_t>(out.lanes()));
    fill(std::span<T>(numbers));
    cast_numbers(std::span<const T>(numbers), out);
  }
}

/// Result `i` of the call, written by `fill`.
template <class T, class Fill>
Status give_numbers(KernelCall& call, std::size_t i, const Shape& shape, Fill&& fill) {
  auto out = call.make_output(i, shape);
  if (!out) return tl::make_unexpected(out.error());
  fill_tensor<T>(*out, fill);
  call.outputs[i] = std::move(*out);
  return {};
}

}  // namespace md
