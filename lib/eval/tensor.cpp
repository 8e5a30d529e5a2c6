#include "lib/eval/tensor.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>

#include "lib/graph/densify.h"
#include "lib/graph/encode.h"

namespace md {
namespace {

constexpr std::size_t alignment = 64;  // a cache line, and the widest vector register

/// Large buffers are used again: fresh pages from the system cost more than many a kernel.
class BufferPool {
 public:
  void* take(std::size_t bytes) {
    if (bytes >= smallest) {
      const std::lock_guard lock(mutex_);
      // A buffer of at most a quarter more than is asked for.
      const auto at = free_.lower_bound(bytes);
      if (at != free_.end() && at->first <= bytes + bytes / 4) {
        void* memory = at->second;
        held_ -= at->first;
        sizes_[memory] = at->first;
        free_.erase(at);
        return memory;
      }
    }
    void* memory = ::operator new(bytes + (bytes == 0), std::align_val_t(alignment));
    if (bytes >= smallest) {
      const std::lock_guard lock(mutex_);
      sizes_[memory] = bytes;
    }
    return memory;
  }
  void give(void* memory, std::size_t bytes) {
    if (bytes >= smallest) {
      const std::lock_guard lock(mutex_);
      const auto at = sizes_.find(memory);
      const std::size_t size = at->second;
      sizes_.erase(at);
      if (held_ + size <= most) {
        held_ += size;
        free_.emplace(size, memory);
        return;
      }
    }
    ::operator delete(memory, std::align_val_t(alignment));
  }

 private:
  static constexpr std::size_t smallest = std::size_t{128} << 10;  // below, the allocator itself keeps memory
  static constexpr std::size_t most = std::size_t{16} << 20;       // unused bytes that are kept
  std::mutex mutex_;
  std::multimap<std::size_t, void*> free_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::size_t held_ = 0;
};

/// Never destroyed: tensors may outlive everything else.
BufferPool& pool() {
  static BufferPool& instance = *new BufferPool;
  return instance;
}

std::shared_ptr<const void> allocate(std::size_t bytes) {
  return {pool().take(bytes), [bytes](const void* p) { pool().give(const_cast<void*>(p), bytes); }};
}

int lanes_of(DType dtype) {
  return dtype == DType::c32 || dtype == DType::c64 || dtype == DType::c128 ? 2 : 1;
}

template <class T>
T narrowed(double v) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(v);
  } else {
    if (std::isnan(v)) return 0;
    if (v <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (v >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(v);
  }
}

double rounded_to(DType dtype, double v) {
  if (dtype == DType::f16) return static_cast<double>(half_to_float(float_to_half(static_cast<float>(v))));
  if (dtype == DType::bf16)
    return static_cast<double>(bfloat_to_float(float_to_bfloat(static_cast<float>(v))));
  if (is_small_float(dtype)) return round_to_small_float(dtype, v, true);
  return v;
}

}  // namespace

void fault_store(Store asked, Store has) {
  const auto text = [](Store store) {
    static constexpr const char* names[] = {"f32", "f64", "i8", "u8", "i16", "i32", "i64"};
    return names[static_cast<std::size_t>(store)];
  };
  throw TensorFault(fmt::format("elements stored as {} are taken for {}", text(has), text(asked)));
}
void fault_shared() { throw TensorFault("a tensor that others share would be changed"); }
void fault_operand(const char* what, std::size_t position) {
  throw TensorFault(fmt::format("{} {} is missing", what, position));
}
void fault_size(std::size_t from, std::size_t to) {
  throw TensorFault(fmt::format("{} numbers do not fit {}", from, to));
}

std::optional<Store> store_of(DType dtype, bool wide) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::c32:
    case DType::c64:
    case DType::f8e4m3fn:
    case DType::f8e5m2:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1:
      return wide ? Store::f64 : Store::f32;
    case DType::f64:
    case DType::c128:
      return Store::f64;
    case DType::i2:
    case DType::i4:
    case DType::i8:
      return Store::i8;
    case DType::u2:
    case DType::u4:
    case DType::u8:
    case DType::boolean:
      return Store::u8;
    case DType::i16:
      return Store::i16;
    case DType::u16:
    case DType::i32:
      return Store::i32;
    case DType::u32:
    case DType::i64:
    case DType::u64:
      return Store::i64;
    default:
      return std::nullopt;
  }
}

std::size_t store_bytes(Store store) {
  return with_store(store, [](auto zero) { return sizeof(zero); });
}

Tensor Tensor::make(DType dtype, Shape shape, bool wide) {
  Tensor t;
  t.dtype = dtype;
  t.store_ = store_of(dtype, wide).value_or(Store::i64);
  t.lanes_ = lanes_of(dtype);
  t.count_ = static_cast<std::size_t>(element_count(shape).value_or(0));
  t.shape = std::move(shape);
  t.owner_ = allocate(t.bytes());
  t.data_ = static_cast<const std::byte*>(t.owner_.get());
  t.writable_ = true;
  return t;
}

Tensor Tensor::of(DType dtype, Shape shape, std::span<const double> numbers, bool wide) {
  Tensor t = make(dtype, std::move(shape), wide);
  with_store(t.store_, [&](auto zero) {
    using T = decltype(zero);
    auto out = t.mutable_data<T>();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = narrowed<T>(rounded_to(dtype, i < numbers.size() ? numbers[i] : 0.0));
  });
  return t;
}

Tensor Tensor::of_integers(DType dtype, Shape shape, std::span<const std::int64_t> numbers) {
  Tensor t = make(dtype, std::move(shape));
  with_store(t.store_, [&](auto zero) {
    using T = decltype(zero);
    auto out = t.mutable_data<T>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(i < numbers.size() ? numbers[i] : 0);
  });
  return t;
}

Result<Tensor> Tensor::constant(const Value& value, bool wide) {
  const auto count = element_count(value.shape);
  const auto store = store_of(value.dtype, wide);
  if (value.sparsity && store) {
    auto bytes = dense_bytes(value);
    if (!bytes)
      return input_error(fmt::format("the sparse constant \"{}\" does not fit its shape {}", value.name,
                                     shape_text(value.shape)));
    Value dense = value;
    dense.sparsity = nullptr;
    dense.constant = Constant::own(std::move(*bytes));
    return constant(dense, wide);
  }
  if (!value.constant || !count || !store || bit_width(value.dtype) == 0)
    return fail(Error::Kind::unsupported,
                fmt::format("constant \"{}\" of type {} cannot be evaluated", value.name, name(value.dtype)));
  const Bytes bytes = value.constant->bytes;
  if (static_cast<std::uint64_t>(*count) / 8 > bytes.size() ||
      storage_bytes(value.dtype, *count) != bytes.size())
    return input_error(fmt::format("constant \"{}\" has {} bytes, its shape {} needs another number",
                                   value.name, bytes.size(), shape_text(value.shape)));
  std::shared_ptr<const Quantization> quantization;
  if (value.quantization && !value.quantization->scale.empty())
    quantization = std::make_shared<const Quantization>(*value.quantization);
  const bool same_bytes = static_cast<std::size_t>(bit_width(value.dtype)) ==
                              8 * store_bytes(*store) * static_cast<std::size_t>(lanes_of(value.dtype)) &&
                          value.dtype != DType::f16 && value.dtype != DType::bf16;
  Tensor t;
  // No elements still are a tensor: they get memory of their own.
  if (same_bytes && !bytes.empty() &&
      reinterpret_cast<std::uintptr_t>(bytes.data()) % store_bytes(*store) == 0) {
    t.dtype = value.dtype;
    t.store_ = *store;
    t.lanes_ = lanes_of(value.dtype);
    t.count_ = static_cast<std::size_t>(*count);
    t.shape = value.shape;
    t.data_ = reinterpret_cast<const std::byte*>(bytes.data());
    t.owner_ = value.constant->owner;
  } else if (same_bytes) {
    t = make(value.dtype, value.shape, wide);
    if (!bytes.empty()) std::memcpy(t.mutable_raw(), bytes.data(), bytes.size());
  } else if (value.dtype == DType::f16 && !wide) {
    t = make(value.dtype, value.shape);
    auto out = t.mutable_data<float>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::uint16_t half;
      std::memcpy(&half, bytes.data() + 2 * i, 2);
      out[i] = half_to_float(half);
    }
  } else if (lanes_of(value.dtype) == 2) {
    Value flat = value;
    flat.dtype = value.dtype == DType::c128  ? DType::f64
                 : value.dtype == DType::c64 ? DType::f32
                                             : DType::f16;
    flat.shape.push_back(2);
    const auto numbers = decode(flat);
    if (!numbers)
      return fail(Error::Kind::unsupported, fmt::format("constant \"{}\" cannot be decoded", value.name));
    t = of(value.dtype, value.shape, *numbers, wide);
  } else if (value.dtype == DType::u64 || value.dtype == DType::i64) {
    t = make(value.dtype, value.shape);
    if (!bytes.empty()) std::memcpy(t.mutable_raw(), bytes.data(), bytes.size());
  } else {
    const auto numbers = decode(value);
    if (!numbers)
      return fail(Error::Kind::unsupported,
                  fmt::format("constant \"{}\" of type {} cannot be decoded", value.name, name(value.dtype)));
    t = of(value.dtype, value.shape, *numbers, wide);
  }
  t.quantization = std::move(quantization);
  return t;
}

Tensor Tensor::reshaped(Shape other) const {
  if (const auto count = element_count(other); !count || static_cast<std::size_t>(*count) != count_)
    fault_size(count_, static_cast<std::size_t>(count.value_or(0)));
  Tensor t = *this;
  t.shape = std::move(other);
  t.writable_ = false;
  return t;
}

Tensor Tensor::widened(bool wide) const {
  const auto wanted = store_of(dtype, wide);
  if (!is_float() || !wanted || *wanted == store_) return *this;
  Tensor t = of(dtype, shape, numbers(), wide);
  t.quantization = quantization;
  return t;
}

double Tensor::number(std::size_t i) const {
  if (i >= count_ * static_cast<std::size_t>(lanes_)) fault_size(i + 1, count_);
  return with_store(store_, [&](auto zero) { return static_cast<double>(data<decltype(zero)>()[i]); });
}

std::int64_t Tensor::integer(std::size_t i) const {
  if (is_float()) return narrowed<std::int64_t>(number(i));
  if (i >= count_ * static_cast<std::size_t>(lanes_)) fault_size(i + 1, count_);
  return with_store(store_, [&](auto zero) { return static_cast<std::int64_t>(data<decltype(zero)>()[i]); });
}

std::vector<double> Tensor::numbers() const {
  return with_store(store_, [&](auto zero) {
    const auto all = data<decltype(zero)>();
    return std::vector<double>(all.begin(), all.end());
  });
}

std::vector<std::int64_t> Tensor::integers() const {
  std::vector<std::int64_t> out(size() * static_cast<std::size_t>(lanes_));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = integer(i);
  return out;
}

std::vector<double> Tensor::real_values() const {
  std::vector<double> out = numbers();
  if (!quantization || quantization->scale.empty() || is_float()) return out;
  const Quantization& q = *quantization;
  std::size_t inner = 1, channels = 1;
  if (q.scale.size() > 1 && q.axis >= 0 && static_cast<std::size_t>(q.axis) < shape.size()) {
    channels = static_cast<std::size_t>(shape[static_cast<std::size_t>(q.axis)]);
    for (std::size_t d = static_cast<std::size_t>(q.axis) + 1; d < shape.size(); ++d)
      inner *= static_cast<std::size_t>(shape[d]);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t c = std::min(channels > 1 ? (i / inner) % channels : 0, q.scale.size() - 1);
    const double zero =
        q.zero_point.empty() ? 0.0 : static_cast<double>(q.zero_point[std::min(c, q.zero_point.size() - 1)]);
    out[i] = (out[i] - zero) * static_cast<double>(q.scale[c]);
  }
  return out;
}

std::vector<std::uint8_t> constant_bytes(const Tensor& tensor) {
  const auto stored_bits = 8 * store_bytes(tensor.store());
  if (static_cast<std::size_t>(bit_width(tensor.dtype)) == stored_bits && tensor.lanes() == 1 &&
      tensor.dtype != DType::f16 && tensor.dtype != DType::bf16) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(tensor.raw());
    return {from, from + tensor.bytes()};
  }
  if (tensor.lanes() == 2) {
    Shape flat = tensor.shape;
    flat.push_back(2);
    return encode(tensor.dtype == DType::c128  ? DType::f64
                  : tensor.dtype == DType::c64 ? DType::f32
                                               : DType::f16,
                  flat, tensor.numbers());
  }
  return encode(tensor.dtype, tensor.shape, tensor.numbers());
}

}  // namespace md
