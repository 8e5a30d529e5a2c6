// Kernels of aten comparisons, logic and bits.
#include "lib/format/torch/pairs.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

template <class F>
Status compare(KernelCall& call, F&& f) {
  const auto pair = real_pair(call);
  if (!pair) return tl::make_unexpected(pair.error());
  return compare_pair(call, *pair, f);
}
Status eq(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a == b; });
}
Status ne(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a != b; });
}
Status lt(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a < b; });
}
Status le(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a <= b; });
}
Status gt(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a > b; });
}
Status ge(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a >= b; });
}
Status logical_and(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a != 0 && b != 0; });
}
Status logical_or(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return a != 0 || b != 0; });
}
Status logical_xor(KernelCall& call) {
  return compare(call, [](auto a, auto b) { return (a != 0) != (b != 0); });
}

template <class F>
Status bits(KernelCall& call, F&& f) {
  const auto pair = real_pair(call);
  if (!pair) return tl::make_unexpected(pair.error());
  if (is_float(pair->common)) return call.bad("bits of floats");
  return zip_pair(call, *pair, [&](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>)
      return f(a, b);
    else
      return a;
  });
}
using I = std::int64_t;
Status bitwise_and(KernelCall& call) {
  return bits(call, [](I a, I b) { return a & b; });
}
Status bitwise_or(KernelCall& call) {
  return bits(call, [](I a, I b) { return a | b; });
}
Status bitwise_xor(KernelCall& call) {
  return bits(call, [](I a, I b) { return a ^ b; });
}
/// Shifts past the width leave nothing, or the sign.
Status shift_left(KernelCall& call) {
  return bits(call, [](I a, I b) {
    return b < 0 || b > 63 ? I{0} : static_cast<I>(static_cast<std::uint64_t>(a) << b);
  });
}
Status shift_right(KernelCall& call) {
  return bits(call, [](I a, I b) { return a >> (b < 0 || b > 63 ? 63 : b); });
}

constexpr KernelEntry entries[] = {
    {"aten.eq.Tensor", eq},
    {"aten.eq.Scalar", eq},
    {"aten.ne.Tensor", ne},
    {"aten.ne.Scalar", ne},
    {"aten.lt.Tensor", lt},
    {"aten.lt.Scalar", lt},
    {"aten.le.Tensor", le},
    {"aten.le.Scalar", le},
    {"aten.gt.Tensor", gt},
    {"aten.gt.Scalar", gt},
    {"aten.ge.Tensor", ge},
    {"aten.ge.Scalar", ge},
    {"aten.logical_and.default", logical_and},
    {"aten.logical_or.default", logical_or},
    {"aten.logical_xor.default", logical_xor},
    {"aten.bitwise_and.Tensor", bitwise_and},
    {"aten.bitwise_and.Scalar", bitwise_and},
    {"aten.bitwise_or.Tensor", bitwise_or},
    {"aten.bitwise_or.Scalar", bitwise_or},
    {"aten.bitwise_xor.Tensor", bitwise_xor},
    {"aten.bitwise_xor.Scalar", bitwise_xor},
    {"aten.__and__.Tensor", bitwise_and},
    {"aten.__and__.Scalar", bitwise_and},
    {"aten.__or__.Tensor", bitwise_or},
    {"aten.__or__.Scalar", bitwise_or},
    {"aten.__xor__.Tensor", bitwise_xor},
    {"aten.__xor__.Scalar", bitwise_xor},
    {"aten.__lshift__.Tensor", shift_left},
    {"aten.__lshift__.Scalar", shift_left},
    {"aten.__rshift__.Tensor", shift_right},
    {"aten.__rshift__.Scalar", shift_right},
    {"aten.bitwise_left_shift.Tensor", shift_left},
    {"aten.bitwise_left_shift.Tensor_Scalar", shift_left},
    {"aten.bitwise_right_shift.Tensor", shift_right},
    {"aten.bitwise_right_shift.Tensor_Scalar", shift_right},
};

}  // namespace

std::span<const KernelEntry> aten_logic_kernels() { return entries; }

}  // namespace md
