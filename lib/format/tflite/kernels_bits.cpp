// Bits of integers: logic, shifts, and the same bits under another type.
#include <array>
#include <cstring>

#include "lib/eval/primitives/broadcast.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

struct Xor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct And {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
/// Signs are kept; a shift of the whole width or more leaves the sign alone.
struct ShiftRight {
  template <class T>
  static T of(T a, T b) {
    const int width = static_cast<int>(sizeof(T) * 8);
    return static_cast<T>(a >> std::clamp<std::int64_t>(static_cast<std::int64_t>(b), 0, width - 1));
  }
};
struct ShiftLeft {
  template <class T>
  static T of(T a, T b) {
    if (b < T(0) || static_cast<std::int64_t>(b) >= static_cast<std::int64_t>(sizeof(T) * 8)) return 0;
    return static_cast<T>(static_cast<std::uint64_t>(a) << static_cast<std::uint64_t>(b));
  }
};

template <class F>
Status bitwise(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &a = call.in(0), &b = call.in(1);
  if (a.is_float() || a.store() != b.store()) return call.unsupported(fmt::format("on {}", name(a.dtype)));
  const auto shape = broadcast_shape(a.shape, b.shape);
  if (!shape)
    return call.bad(fmt::format("shapes {} and {} do not fit", shape_text(a.shape), shape_text(b.shape)));
  auto out = call.make_output(0, *shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != a.store()) return call.bad("the result's type is not the operands'");
  with_store(a.store(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_floating_point_v<T>)
      broadcast_binary<T, T>(a.data<T>(), a.shape, b.data<T>(), b.shape, out->mutable_data<T>(), out->shape,
                             [](T x, T y) { return F::of(x, y); });
  });
  call.outputs[0] = std::move(*out);
  return {};
}

/// Types of one width only, and not in arithmetic that keeps floats in another type than the file's.
Status bitcast(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (bit_width(x.dtype) != bit_width(out->dtype) || x.bytes() != out->bytes() ||
      static_cast<std::size_t>(bit_width(x.dtype)) != 8 * x.element_bytes())
    return call.unsupported(fmt::format("from {} to {} here", name(x.dtype), name(out->dtype)));
  if (x.bytes() > 0) std::memcpy(out->mutable_raw(), x.raw(), x.bytes());
  call.outputs[0] = std::move(*out);
  return {};
}

}  // namespace

std::span<const KernelEntry> bit_kernels() {
  static const std::array rows = {
      KernelEntry{"BITWISE_XOR", bitwise<Xor>},
      KernelEntry{"BITWISE_AND", bitwise<And>},  // AND, OR and the left shift: of STABLEHLO's operators
      KernelEntry{"BITWISE_OR", bitwise<Or>},
      KernelEntry{"BITWISE_SHIFT_LEFT", bitwise<ShiftLeft>},
      KernelEntry{"RIGHT_SHIFT", bitwise<ShiftRight>},
      KernelEntry{"BITCAST", bitcast},
  };
  return rows;
}

}  // namespace md
