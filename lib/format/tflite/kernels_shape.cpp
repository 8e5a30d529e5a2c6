// Operators about shapes and new tensors: SHAPE, RANK, FILL, RANGE, ZEROS_LIKE, BROADCAST_ARGS, CAST,
// BITCAST.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "lib/eval/primitives/broadcast.h"
#include "lib/eval/primitives/strided.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

Status shape(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Shape& dims = call.in(0).shape;
  call.outputs[0] =
      Tensor::of_integers(call.out_value().dtype, {static_cast<std::int64_t>(dims.size())}, dims);
  return {};
}

Status rank(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const std::int64_t r = call.in(0).rank();
  call.outputs[0] = Tensor::of_integers(call.out_value().dtype, {}, std::span(&r, 1));
  return {};
}

Status fill_with(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const auto dims = index_operand(call, 0);
  if (!dims || call.in(1).size() != 1) return call.bad("needs a shape and one value");
  auto out = call.make_output(0, *dims);
  if (!out) return tl::make_unexpected(out.error());
  if (out->element_bytes() != call.in(1).element_bytes())
    return call.bad("the value's type is not the result's");
  fill(*out, call.in(1).raw());
  call.outputs[0] = std::move(*out);
  return {};
}

Status zeros_like(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  auto out = call.make_output(0, call.in(0).shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->bytes()) std::memset(out->mutable_raw(), 0, out->bytes());
  call.outputs[0] = std::move(*out);
  return {};
}

Status range(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  for (std::size_t i = 0; i < 3; ++i)
    if (call.in(i).size() != 1) return call.bad("start, limit and delta are scalars");
  const double start = call.in(0).number(0), limit = call.in(1).number(0), delta = call.in(2).number(0);
  const double count = delta == 0 ? -1 : std::ceil((limit - start) / delta);
  if (!(delta != 0) || !(count < 1e12)) return call.bad("an impossible range");
  auto out = call.make_output(0, {count > 0 ? static_cast<std::int64_t>(count) : 0});
  if (!out) return tl::make_unexpected(out.error());
  with_store(out->store(), [&](auto zero) {
    using T = decltype(zero);
    auto to = out->mutable_data<T>();
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<T>(static_cast<T>(start) + static_cast<T>(i) * static_cast<T>(delta));
  });
  call.outputs[0] = std::move(*out);
  return {};
}

Status broadcast_args(KernelCall& call) {
  const auto a = index_operand(call, 0), b = index_operand(call, 1);
  if (!a || !b) return call.bad("needs two shapes");
  const auto both = broadcast_shape(*a, *b);
  if (!both) return call.bad("the shapes do not fit");
  call.outputs[0] =
      Tensor::of_integers(call.out_value().dtype, {static_cast<std::int64_t>(both->size())}, *both);
  return {};
}

/// As the machine's conversion: floats truncate, integers wrap; out of range and NaN give the lowest value of
/// i32 or i64, which narrower types are then cut from.
template <class To, class From>
To converted(From v) {
  if constexpr (std::is_floating_point_v<To> || !std::is_floating_point_v<From>) {
    return static_cast<To>(v);
  } else if constexpr (sizeof(To) == 8) {
    if (!(v >= static_cast<From>(-9223372036854775808.0) && v < static_cast<From>(9223372036854775808.0)))
      return std::numeric_limits<To>::lowest();
    return static_cast<To>(v);
  } else {
    if (!(v >= static_cast<From>(-2147483648.0) && v < static_cast<From>(2147483648.0)))
      return static_cast<To>(std::numeric_limits<std::int32_t>::lowest());
    return static_cast<To>(static_cast<std::int32_t>(v));
  }
}

Status cast(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->lanes() != x.lanes())
    return call.unsupported(fmt::format("from {} to {}", name(x.dtype), name(out->dtype)));
  with_store(x.store(), [&](auto from_zero) {
    using From = decltype(from_zero);
    with_store(out->store(), [&](auto to_zero) {
      using To = decltype(to_zero);
      const auto from = x.data<From>();
      auto to = out->mutable_data<To>();
      for (std::size_t i = 0; i < from.size(); ++i) {
        to[i] = converted<To>(from[i]);
        if constexpr (std::is_same_v<To, std::uint8_t>)
          if (out->dtype == DType::boolean) to[i] = from[i] != From(0);
        if constexpr (std::is_same_v<To, float>)
          if (out->dtype == DType::f16) to[i] = half_to_float(float_to_half(to[i]));
      }
    });
  });
  call.outputs[0] = std::move(*out);
  return {};
}

}  // namespace

std::span<const KernelEntry> shape_kernels() {
  static const std::array rows = {
      KernelEntry{"SHAPE", shape, 0, true},
      KernelEntry{"RANK", rank, 0, true},
      KernelEntry{"FILL", fill_with, 0, true},
      KernelEntry{"ZEROS_LIKE", zeros_like, 0, true},
      KernelEntry{"RANGE", range},
      KernelEntry{"BROADCAST_ARGS", broadcast_args},
      KernelEntry{"CAST", cast, 0, true},
  };
  return rows;
}

}  // namespace md
