// Kernels of operators that make tensors from sizes and numbers.
#include <algorithm>
#include <cmath>

#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;
using onnx::Numbers;

Status shape_of(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Shape& x = call.in(0).shape;
  const auto rank = static_cast<std::int64_t>(x.size());
  const auto bound = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const std::int64_t first = bound(call.attrs().integer("start", 0)),
                     last = bound(call.attrs().integer("end", rank));
  const Numbers dims(x.begin() + first, x.begin() + std::max(first, last));
  return onnx::give_integers(call, 0, {static_cast<std::int64_t>(dims.size())}, dims);
}

Status size_of(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  return onnx::give_integers(call, 0, {}, {static_cast<std::int64_t>(call.in(0).size())});
}

Status constant_of_shape(KernelCall& call) {
  const auto sizes = onnx::operand_numbers(call, 0);
  if (!sizes) return call.bad("no list of sizes");
  for (const std::int64_t n : *sizes)
    if (n < 0) return call.bad("a negative size");
  auto out = call.make_output(0, *sizes);
  if (!out) return tl::make_unexpected(out.error());
  const AttrValue* value = call.attrs().find("value");
  if (value && !std::holds_alternative<std::int64_t>(*value) && !std::holds_alternative<double>(*value))
    return call.unsupported("with this value");
  const Tensor one =
      value && std::holds_alternative<std::int64_t>(*value) && !out->is_float()
          ? Tensor::of_integers(out->dtype, {}, Numbers{std::get<std::int64_t>(*value)})
          : Tensor::of(out->dtype, {}, std::vector<double>{value ? call.attrs().number("value") : 0, 0},
                       call.wide());
  if (one.element_bytes() != out->element_bytes()) return call.unsupported("with this value");
  fill(*out, one.raw());
  call.outputs[0] = std::move(*out);
  return {};
}

Status range(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  for (std::size_t i = 0; i < 3; ++i)
    if (call.in(i).size() != 1) return call.bad("a bound of more than one number");
  const DType dtype = call.in(0).dtype;
  return with_arithmetic(call, dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const T first = As<T>(call.in(0))[0], limit = As<T>(call.in(1))[0], step = As<T>(call.in(2))[0];
    if (step == T(0)) return call.bad("a step of 0");
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(first)) / static_cast<double>(step));
    if (!(count < 1e12)) return call.unsupported("of this length");
    const auto n = std::max<std::int64_t>(static_cast<std::int64_t>(count), 0);
    return give_numbers<T>(call, 0, {n}, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(first + static_cast<T>(i) * step);
    });
  });
}

Status eye_like(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.rank() != 2) return call.bad("expected rank 2");
  const std::int64_t k = call.attrs().integer("k");
  Numbers out(x.size(), 0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    out[i] = place % x.shape[1] - place / x.shape[1] == k;
  }
  return onnx::give_integers(call, 0, x.shape, out);
}

constexpr KernelEntry entries[] = {
    {"ConstantOfShape", constant_of_shape},
    {"EyeLike", eye_like},
    {"Range", range},
    {"Shape", shape_of},
    {"Size", size_of},
    {"com.microsoft.Range", range, 0, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_shape_kernels() { return entries; }

}  // namespace md
