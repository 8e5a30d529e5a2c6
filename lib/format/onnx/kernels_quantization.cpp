// Kernels of quantization: to integers and small floats and back, operators on quantized tensors.
#include <algorithm>
#include <cmath>

#include "lib/eval/limits.h"
#include "lib/eval/primitives/functions.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;
using onnx::Numbers;

/// Which entry of scale and zero point an element has: one for all, one a row of an axis, or one a block.
struct Scales {
  std::size_t inner = 1, length = 1, block = 1, blocks = 1;
  bool one = true;
  std::size_t of(std::size_t i) const {
    if (one) return 0;
    const std::size_t k = i / inner % length;
    return blocks == 0 ? k : (i / (inner * length) * blocks + k / block) * inner + i % inner;
  }
};

Result<Scales> scales_of(KernelCall& call, const Tensor& x, const Tensor& scale) {
  Scales s;
  const std::int64_t block = call.attrs().integer("block_size");
  if (scale.size() == 1 && block == 0) return s;
  const auto axis = normal_axis(call.attrs().integer("axis", 1), x.shape.size());
  if (!axis) return call.bad("an axis outside the tensor");
  const std::span<const std::int64_t> dims(x.shape);
  s.one = false;
  s.inner = at(product(dims.subspan(*axis + 1))), s.length = at(dims[*axis]);
  if (scale.rank() <= 1 && block == 0) {
    s.blocks = 0;
    if (scale.size() != s.length) return call.bad("scales that do not fit the axis");
    return s;
  }
  if (block < 1 || scale.shape.size() != x.shape.size()) return call.bad("scales that do not fit the blocks");
  s.block = at(block), s.blocks = at(scale.shape[*axis]);
  if ((s.length + s.block - 1) / s.block != s.blocks || scale.size() * s.length != x.size() * s.blocks)
    return call.bad("scales that do not fit the blocks");
  return s;
}

std::pair<double, double> bounds_of(DType dtype) {
  if (dtype == DType::boolean) return {0, 1};
  const int bits = std::clamp(bit_width(dtype), 1, 63);
  const double size = std::ldexp(1.0, bits);
  return is_signed(dtype) ? std::pair(-size / 2, size / 2 - 1) : std::pair(0.0, size - 1);
}

Status quantize(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &scale = call.in(1);
  const auto where = scales_of(call, x, scale);
  if (!where) return tl::make_unexpected(where.error());
  if (call.has(2) && call.in(2).size() != scale.size()) return call.bad("zero points that do not fit");
  const DType to = call.out_value().dtype;
  const auto [low, high] = bounds_of(to);
  const bool saturate = call.attrs().flag("saturate", true), real = is_float(to);
  std::vector<double> out(x.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t k = where->of(i);
    if (k >= scale.size()) return call.bad("scales that do not fit");
    const double zero = call.has(2) ? call.in(2).number(k) : 0;
    // The quotient is rounded in the operand's own precision first.
    double v = x.number(i) / scale.number(k);
    if (!call.wide() && x.dtype != DType::f64) v = static_cast<double>(static_cast<float>(v));
    out[i] =
        real ? round_to_small_float(to, v + zero, saturate) : std::clamp(std::nearbyint(v) + zero, low, high);
    if (!real && std::isnan(v)) out[i] = zero;
  }
  return onnx::give(call, 0, x.shape, out);
}

Status dequantize(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &scale = call.in(1);
  const auto where = scales_of(call, x, scale);
  if (!where) return tl::make_unexpected(where.error());
  if (call.has(2) && call.in(2).size() != scale.size()) return call.bad("zero points that do not fit");
  std::vector<double> out(x.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t k = where->of(i);
    if (k >= scale.size()) return call.bad("scales that do not fit");
    out[i] = (x.number(i) - (call.has(2) ? call.in(2).number(k) : 0)) * scale.number(k);
  }
  return onnx::give(call, 0, x.shape, out);
}

Status dynamic_quantize(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const std::vector<double> x = call.in(0).numbers();
  double low = 0, high = 0;
  for (const double v : x) low = std::min(low, v), high = std::max(high, v);
  const float scale = static_cast<float>(high - low) / 255.0f;
  const float first = scale == 0 ? 0.0f : static_cast<float>(-low) / scale;
  const double zero = std::clamp(std::nearbyint(static_cast<double>(first)), 0.0, 255.0);
  std::vector<double> out;
  for (const double v : x) {
    const float q = scale == 0 ? 0.0f : static_cast<float>(v) / scale;
    out.push_back(std::clamp(std::nearbyint(static_cast<double>(q)) + zero, 0.0, 255.0));
  }
  if (auto ok = onnx::give(call, 0, call.in(0).shape, out); !ok) return ok;
  if (onnx::wants(call, 1))
    if (auto ok = onnx::give(call, 1, {}, {static_cast<double>(scale)}); !ok) return ok;
  return onnx::wants(call, 2) ? onnx::give(call, 2, {}, {zero}) : Status{};
}

// --- com.microsoft: operators on quantized tensors, one scale and zero point each

struct Affine {
  double scale = 1, zero = 0;
};

std::optional<Affine> affine(const KernelCall& call, std::size_t scale, std::size_t zero) {
  if (!call.has(scale) || call.in(scale).size() != 1) return std::nullopt;
  return Affine{call.in(scale).number(0),
                call.has(zero) && call.in(zero).size() ? call.in(zero).number(0) : 0};
}

double quantized(double real, const Affine& to, DType dtype) {
  const auto [low, high] = bounds_of(dtype);
  return std::clamp(std::nearbyint(real / to.scale) + to.zero, low, high);
}

Status q_binary(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const auto a = affine(call, 1, 2), b = affine(call, 4, 5), y = affine(call, 6, 7);
  if (!a || !b || !y || !call.has(3)) return call.bad("an operand is missing, or several scales");
  const bool product_ = call.node.op == "com.microsoft.QLinearMul";
  const Tensor &p = call.in(0), &q = call.in(3);
  const auto shape = onnx::joint_shape(call, p.shape, q.shape);
  if (!shape) return tl::make_unexpected(shape.error());
  std::vector<double> out(at(product(*shape)));
  const As<double> u(p), v(q);
  const Shape* shapes[] = {&p.shape, &q.shape};
  const DType dtype = call.out_value().dtype;
  BroadcastPlan(*shape, shapes)
      .each_row([&](std::size_t first, std::size_t n, const auto& offset, const auto& step) {
        for (std::size_t i = 0; i < n; ++i) {
          const double x = (u[offset[0] + i * step[0]] - a->zero) * a->scale,
                       z = (v[offset[1] + i * step[1]] - b->zero) * b->scale;
          out[first + i] = quantized(product_ ? x * z : x + z, *y, dtype);
        }
      });
  return onnx::give(call, 0, *shape, out);
}

Status q_unary(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const auto x = affine(call, 1, 2), y = affine(call, 3, 4);
  if (!x || !y) return call.bad("an operand is missing, or several scales");
  const bool leaky = call.node.op == "com.microsoft.QLinearLeakyRelu";
  const double alpha = call.attrs().number("alpha", 0.01);
  std::vector<double> out;
  for (const double v : call.in(0).numbers()) {
    const double r = (v - x->zero) * x->scale;
    out.push_back(quantized(leaky ? (r < 0 ? r * alpha : r) : logistic(r), *y, call.out_value().dtype));
  }
  return onnx::give(call, 0, call.in(0).shape, out);
}

Status q_global_average(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const auto x = affine(call, 1, 2), y = affine(call, 3, 4);
  const Tensor& image = call.in(0);
  if (!x || !y || image.rank() < 3) return call.bad("an operand is missing, or several scales");
  const bool last = call.attrs().flag("channels_last");
  const std::int64_t channels = last ? image.shape.back() : image.shape[1];
  const std::size_t n = at(image.shape[0]), c = at(channels), pixels = n * c > 0 ? image.size() / (n * c) : 0;
  Shape shape(image.shape.size(), 1);
  shape[0] = image.shape[0], shape[last ? shape.size() - 1 : 1] = channels;
  std::vector<double> out;
  for (std::size_t b = 0; b < n; ++b)
    for (std::size_t k = 0; k < c; ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < pixels; ++i)
        sum += image.number(last ? (b * pixels + i) * c + k : (b * c + k) * pixels + i) - x->zero;
      out.push_back(quantized(sum * x->scale / static_cast<double>(std::max<std::size_t>(pixels, 1)), *y,
                              call.out_value().dtype));
    }
  return onnx::give(call, 0, shape, out);
}

Status q_concat(KernelCall& call) {
  if (call.count() < 5 || call.count() % 3 != 2) return call.bad("operands come in threes");
  const auto y = affine(call, 0, 1);
  if (!y || !call.has(2)) return call.bad("an operand is missing, or several scales");
  const auto axis = normal_axis(call.attrs().integer("axis"), call.in(2).shape.size());
  if (!axis) return call.bad("an axis outside the tensor");
  Shape shape = call.in(2).shape;
  shape[*axis] = 0;
  for (std::size_t i = 2; i < call.count(); i += 3) {
    if (!call.has(i) || call.in(i).shape.size() != shape.size()) return call.bad("parts of several ranks");
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (d != *axis && call.in(i).shape[d] != shape[d]) return call.bad("parts of several sizes");
    shape[*axis] += call.in(i).shape[*axis];
  }
  std::vector<double> out(at(product(shape)));
  const std::size_t inner = at(product(std::span<const std::int64_t>(shape).subspan(*axis + 1))),
                    total = at(shape[*axis]) * inner;
  std::size_t from = 0;
  for (std::size_t i = 2; i < call.count(); i += 3) {
    const auto x = affine(call, i + 1, i + 2);
    if (!x) return call.bad("several scales");
    const std::size_t row = at(call.in(i).shape[*axis]) * inner;
    for (std::size_t k = 0; k < call.in(i).size(); ++k)
      out[k / std::max<std::size_t>(row, 1) * total + from + k % std::max<std::size_t>(row, 1)] =
          quantized((call.in(i).number(k) - x->zero) * x->scale, *y, call.out_value().dtype);
    from += row;
  }
  return onnx::give(call, 0, shape, out);
}

/// Weights of 2, 4 or 8 bits in blocks along the rows: y = x * transposed(weights).
Status matmul_nbits(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor &x = call.in(0), &packed = call.in(1), &scales = call.in(2);
  const std::int64_t k = call.attrs().integer("K"), n = call.attrs().integer("N"),
                     bits = call.attrs().integer("bits", 4), block = call.attrs().integer("block_size", 32);
  if (k < 1 || n < 1 || k > (1 << 28) || n > (1 << 28) || (bits != 2 && bits != 4 && bits != 8) ||
      block < 1 || x.rank() < 1 || x.shape.back() != k)
    return call.bad("sizes that do not fit");
  const std::int64_t blocks = (k + block - 1) / block, row_bytes = blocks * (block * bits / 8),
                     zero_row = (blocks * bits + 7) / 8;
  if (packed.store() != Store::u8 || static_cast<std::int64_t>(packed.size()) != n * row_bytes ||
      static_cast<std::int64_t>(scales.size()) != n * blocks)
    return call.unsupported("with this layout of weights");
  if (call.has(4)) return call.unsupported("with a group index");
  const Tensor* zeros = call.has(3) ? &call.in(3) : nullptr;
  const bool zeros_packed = zeros && zeros->store() == Store::u8;
  if (zeros && static_cast<std::int64_t>(zeros->size()) != (zeros_packed ? n * zero_row : n * blocks))
    return call.bad("zero points that do not fit");
  const auto bytes = packed.data<std::uint8_t>();
  const std::int64_t mask = (1 << bits) - 1, per_byte = 8 / bits;
  const auto work = static_cast<double>(x.size()) * static_cast<double>(n) + static_cast<double>(n * k);
  if (auto fits = charge(call, work); !fits) return fits;
  std::vector<double> weights(at(n * k));
  for (std::int64_t r = 0; r < n; ++r)
    for (std::int64_t c = 0; c < k; ++c) {
      const std::int64_t b = c / block, inside = c % block,
                         byte = r * row_bytes + b * (block * bits / 8) + inside / per_byte;
      const std::int64_t q = bytes[at(byte)] >> (inside % per_byte * bits) & mask;
      double zero = static_cast<double>(1 << (bits - 1));
      if (zeros_packed)
        zero = static_cast<double>(
            zeros->data<std::uint8_t>()[at(r * zero_row + b / per_byte)] >> (b % per_byte * bits) & mask);
      else if (zeros)
        zero = zeros->number(at(r * blocks + b));
      weights[at(r * k + c)] = (static_cast<double>(q) - zero) * scales.number(at(r * blocks + b));
    }
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / k;
  Shape shape = x.shape;
  shape.back() = n;
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> a(x);
    return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          T sum = T(0);
          for (std::int64_t t = 0; t < k; ++t)
            sum += a[at(i * k + t)] * static_cast<T>(weights[at(j * k + t)]);
          if (call.has(5) && call.in(5).size() == at(n)) sum += static_cast<T>(call.in(5).number(at(j)));
          to[at(i * n + j)] = sum;
        }
    });
  });
}

constexpr KernelEntry entries[] = {
    {"DequantizeLinear", dequantize},
    {"DynamicQuantizeLinear", dynamic_quantize},
    {"QuantizeLinear", quantize},
    {"com.microsoft.DequantizeLinear", dequantize, 0, false, "com.microsoft"},
    {"com.microsoft.MatMulNBits", matmul_nbits, 0, false, "com.microsoft"},
    {"com.microsoft.QLinearAdd", q_binary, 0, false, "com.microsoft"},
    {"com.microsoft.QLinearConcat", q_concat, 0, false, "com.microsoft"},
    {"com.microsoft.QLinearGlobalAveragePool", q_global_average, 0, false, "com.microsoft"},
    {"com.microsoft.QLinearLeakyRelu", q_unary, 0, false, "com.microsoft"},
    {"com.microsoft.QLinearMul", q_binary, 0, false, "com.microsoft"},
    {"com.microsoft.QLinearSigmoid", q_unary, 0, false, "com.microsoft"},
    {"com.microsoft.QuantizeLinear", quantize, 0, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_quantization_kernels() { return entries; }

}  // namespace md
