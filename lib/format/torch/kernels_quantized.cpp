// Kernels of quantized_decomposed operators, as torch defines them.
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
  if (!x) return c.bad("no input");
  const double scale = parameter(c, "scale", 1), zero = parameter(c, "zero_point", 0);
  std::vector<double> out = x->numbers();
  for (double& v : out) v = (v - zero) * scale;
  return c.give(x->shape, out);
}

Status quantize(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("input");
  if (!x) return c.bad("no input");
  const double inverse = 1 / parameter(c, "scale", 1), zero = parameter(c, "zero_point", 0),
               low = c.attrs().number("quant_min"), high = c.attrs().number("quant_max");
  std::vector<double> out = x->numbers();
  for (double& v : out) v = std::clamp(std::nearbyint(v * inverse) + zero, low, high);
  return c.give(x->shape, out);
}

Status dequantize_per_channel(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("input"), *scales = c.operand("scales"), *zeros = c.operand("zero_points");
  const int axis = x && x->rank() ? c.dim("axis", x->rank()) : -1;
  if (!scales || axis < 0 ||
      scales->size() != static_cast<std::size_t>(x->shape[static_cast<std::size_t>(axis)]) ||
      (zeros && zeros->size() != scales->size()))
    return c.bad("scales that do not fit");
  std::vector<double> out = x->numbers();
  std::size_t k = 0;
  for_each_index(x->shape, [&](const std::vector<std::int64_t>& index) {
    const auto channel = static_cast<std::size_t>(index[static_cast<std::size_t>(axis)]);
    out[k] = (out[k] - (zeros ? zeros->number(channel) : 0)) * scales->number(channel);
    ++k;
  });
  return c.give(x->shape, out);
}

constexpr KernelEntry entries[] = {
    {"quantized_decomposed.dequantize_per_tensor.default", dequantize},
    {"quantized_decomposed.dequantize_per_tensor.tensor", dequantize},
    {"quantized_decomposed.quantize_per_tensor.default", quantize},
    {"quantized_decomposed.quantize_per_tensor.tensor", quantize},
    {"quantized_decomposed.dequantize_per_channel.default", dequantize_per_channel},
};

}  // namespace

std::span<const KernelEntry> aten_quantized_kernels() { return entries; }

}  // namespace md
