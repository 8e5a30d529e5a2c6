// A typed array with a shape: what the evaluator computes with. Storage is what the CPU kernels use (float,
// int8, ...), so that results round as theirs do; in the judge's arithmetic floats are stored as double.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/graph/graph.h"

namespace md {

/// C++ type of one stored element. bool, u4 and u2 are stored as u8, i4 and i2 as i8, u16 as i32, u32 and u64
/// as i64; f16, bf16 and smaller floats as f32 (rounded to their own precision); complex types as pairs of
/// floats (two lanes an element).
enum class Store : std::uint8_t { f32, f64, i8, u8, i16, i32, i64 };
/// `wide`: floats in double. nullopt for types without numbers (string, resource, symbols).
std::optional<Store> store_of(DType dtype, bool wide);
std::size_t store_bytes(Store store);
template <class T>
constexpr Store store_for() {
  if constexpr (std::is_same_v<T, float>)
    return Store::f32;
  else if constexpr (std::is_same_v<T, double>)
    return Store::f64;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return Store::i8;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return Store::u8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return Store::i16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return Store::i32;
  else
    return Store::i64;
}

/// A kernel took a tensor for what it is not: only a model whose types nobody checked gets there. Thrown
/// instead of reading past the end, caught where a node is run (guarded() in run_node.h) and given as an
/// Error; it never leaves the evaluator.
class TensorFault : public std::exception {
 public:
  explicit TensorFault(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};
[[noreturn]] void fault_store(Store asked, Store has);
[[noreturn]] void fault_shared();
[[noreturn]] void fault_operand(const char* what, std::size_t position);  ///< "operand 3 is missing"
/// Element counts that a kernel takes for equal: "2 elements into 1".
[[noreturn]] void fault_size(std::size_t from, std::size_t to);

/// Elements are shared between copies and never change after the kernel that made the tensor has returned; a
/// constant points straight into the mapped file where its bytes allow that.
class Tensor {
 public:
  DType dtype = DType::unknown;
  Shape shape;
  std::shared_ptr<const Quantization> quantization;  ///< null: real numbers

  Tensor() = default;
  /// Uninitialized elements, to be written through mutable_data(). The shape must be known and small enough
  /// to allocate (the evaluator checks sizes against its limit first).
  static Tensor make(DType dtype, Shape shape, bool wide = false);
  /// From numbers, one an element (a complex element takes two); integers are stored as they are, f16 is
  /// rounded.
  static Tensor of(DType dtype, Shape shape, std::span<const double> numbers, bool wide = false);
  static Tensor of_integers(DType dtype, Shape shape, std::span<const std::int64_t> numbers);
  /// The elements of a constant. Errors: no constant, a type without numbers, bytes that do not fit the
  /// shape.
  static Result<Tensor> constant(const Value& value, bool wide = false);
  /// The same elements under another shape of the same size.
  Tensor reshaped(Shape other) const;
  /// The same elements in float or double storage; a tensor of integers comes back as it is.
  Tensor widened(bool wide) const;

  Store store() const { return store_; }
  bool is_float() const { return store_ == Store::f32 || store_ == Store::f64; }
  int lanes() const { return lanes_; }         ///< 2 for complex types, else 1
  std::size_t size() const { return count_; }  ///< elements
  std::size_t bytes() const { return count_ * static_cast<std::size_t>(lanes_) * store_bytes(store_); }
  std::size_t element_bytes() const { return static_cast<std::size_t>(lanes_) * store_bytes(store_); }
  int rank() const { return static_cast<int>(shape.size()); }
  bool empty() const { return !data_; }

  /// All stored numbers (size() * lanes()). T must be the store's type.
  template <class T>
  std::span<const T> data() const {
    if (store_for<T>() != store_) fault_store(store_for<T>(), store_);
    return {reinterpret_cast<const T*>(data_), count_ * static_cast<std::size_t>(lanes_)};
  }
  /// Only for the kernel that made the tensor, before it hands it out.
  template <class T>
  std::span<T> mutable_data() {
    if (store_for<T>() != store_) fault_store(store_for<T>(), store_);
    if (!writable_) fault_shared();
    return {reinterpret_cast<T*>(const_cast<std::byte*>(data_)), count_ * static_cast<std::size_t>(lanes_)};
  }
  const std::byte* raw() const { return data_; }
  std::byte* mutable_raw() {
    if (!writable_) fault_shared();
    return const_cast<std::byte*>(data_);
  }
  /// True while the elements are this tensor's own, so that they may still be changed in place.
  bool writable() const { return writable_ && owner_.use_count() == 1; }

  double number(std::size_t i) const;         ///< stored number i
  std::int64_t integer(std::size_t i) const;  ///< stored number i, floats truncated (NaN: 0)
  std::vector<double> numbers() const;        ///< all stored numbers
  std::vector<std::int64_t> integers() const;
  /// Real values: quantized integers through scale and zero point, everything else as numbers().
  std::vector<double> real_values() const;

 private:
  Store store_ = Store::f32;
  int lanes_ = 1;
  bool writable_ = false;
  std::size_t count_ = 0;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

/// Calls f with a zero of the store's type.
template <class F>
decltype(auto) with_store(Store store, F&& f) {
  switch (store) {
    case Store::f32:
      return f(float{});
    case Store::f64:
      return f(double{});
    case Store::i8:
      return f(std::int8_t{});
    case Store::u8:
      return f(std::uint8_t{});
    case Store::i16:
      return f(std::int16_t{});
    case Store::i32:
      return f(std::int32_t{});
    case Store::i64:
      break;
  }
  return f(std::int64_t{});
}

/// Bytes of a tensor in the encoding of constants (for folding a tensor into the file).
std::vector<std::uint8_t> constant_bytes(const Tensor& tensor);

}  // namespace md
