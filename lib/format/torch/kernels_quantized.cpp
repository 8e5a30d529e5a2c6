// Kernels of quantized_decomposed operators, as torch defines them.
#include <cmath>

#include "lib/eval/primitives/axis_rows.h"
#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/call.h"

namespace md {
namespace {

/// A scale or zero point: an operand of one element, or a number.
double parameter(const AtenCall& c, std::string_view name, double otherwise) {
  if (const Tensor* t = c.operand(name); t && t->size() == 1) return t->number(0);
  return c.attrs().number(name, otherwise);
}

Status dequantize(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("input");
  if (!x || x->lanes() != 1) return c.bad("no input");
  const double scale = parameter(c, "scale", 1), zero_point = parameter(c, "zero_point", 0);
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(*x);
    return give_numbers<T>(call, 0, x->shape, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = (from[i] - static_cast<T>(zero_point)) * static_cast<T>(scale);
    });
  });
}

Status quantize(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("input");
  if (!x || x->lanes() != 1) return c.bad("no input");
  const double inverse = 1 / parameter(c, "scale", 1), zero_point = parameter(c, "zero_point", 0),
               low = c.attrs().number("quant_min"), high = c.attrs().number("quant_max");
  return with_floats(call, x->dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(*x);
    return give_numbers<T>(call, 0, x->shape, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        const T stored = std::nearbyint(from[i] * static_cast<T>(inverse)) + static_cast<T>(zero_point);
        to[i] = stored < static_cast<T>(low)    ? static_cast<T>(low)
                : stored > static_cast<T>(high) ? static_cast<T>(high)
                                                : stored;
      }
    });
  });
}

/// `back`: from stored numbers to real ones.
Status per_channel(KernelCall& call, bool back) {
  AtenCall c(call);
  const Tensor *x = c.operand("input"), *scales = c.operand("scales"), *zeros = c.operand("zero_points");
  const int axis = x && x->rank() ? c.dim("axis", x->rank()) : -1;
  if (!scales || axis < 0 || x->lanes() != 1 ||
      scales->size() != static_cast<std::size_t>(x->shape[static_cast<std::size_t>(axis)]) ||
      (zeros && zeros->size() != scales->size()))
    return c.bad("scales that do not fit");
  const AxisRows r = rows_along(x->shape, static_cast<std::size_t>(axis));
  const double low = c.attrs().number("quant_min"), high = c.attrs().number("quant_max");
  return with_floats(call, back ? call.out_value().dtype : x->dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(*x), scale(*scales);
    return give_numbers<T>(call, 0, x->shape, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        const std::size_t k = i / r.inner % r.length;
        const T offset = zeros ? static_cast<T>(zeros->number(k)) : T(0);
        if (back) {
          to[i] = (from[i] - offset) * scale[k];
        } else {
          const T stored = std::nearbyint(from[i] * (T(1) / scale[k])) + offset;
          to[i] = stored < static_cast<T>(low)    ? static_cast<T>(low)
                  : stored > static_cast<T>(high) ? static_cast<T>(high)
                                                  : stored;
        }
      }
    });
  });
}
Status dequantize_per_channel(KernelCall& call) { return per_channel(call, true); }
Status quantize_per_channel(KernelCall& call) { return per_channel(call, false); }

constexpr KernelEntry entries[] = {
    {"quantized_decomposed.dequantize_per_tensor.default", dequantize},
    {"quantized_decomposed.dequantize_per_tensor.tensor", dequantize},
    {"quantized_decomposed.quantize_per_tensor.default", quantize},
    {"quantized_decomposed.quantize_per_tensor.tensor", quantize},
    {"quantized_decomposed.dequantize_per_channel.default", dequantize_per_channel},
    {"quantized_decomposed.quantize_per_channel.default", quantize_per_channel},
};

}  // namespace

std::span<const KernelEntry> aten_quantized_kernels() { return entries; }

}  // namespace md
