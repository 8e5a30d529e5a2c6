// QUANTIZE, DEQUANTIZE, FAKE_QUANT, DENSIFY.
#include <array>

#include "lib/eval/primitives/quantized.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

Status dequantize(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.is_float()) {  // f16 weights are floats already
    if (call.has(0) && call.out_value().dtype != DType::f32)
      return call.unsupported(fmt::format("to {}", name(call.out_value().dtype)));
    call.forward(0, x, x.shape);
    call.outputs[0].dtype = call.out_value().dtype;
    return {};
  }
  if (!x.quantization) return call.bad("the operand has no scale");
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (!out->is_float()) return call.bad("the result is not a float");
  out->quantization = nullptr;
  const Quantization& q = *x.quantization;
  std::size_t inner = 1, channels = 1;
  if (q.scale.size() > 1) {
    if (q.axis < 0 || q.axis >= x.rank() ||
        static_cast<std::size_t>(x.shape[static_cast<std::size_t>(q.axis)]) != q.scale.size())
      return call.bad("the scales do not fit the axis");
    channels = q.scale.size();
    for (std::size_t d = static_cast<std::size_t>(q.axis) + 1; d < x.shape.size(); ++d)
      inner *= static_cast<std::size_t>(x.shape[d]);
  }
  with_store(x.store(), [&](auto zero) {
    using X = decltype(zero);
    const auto from = x.data<X>();
    const auto run = [&](auto real) {
      using T = decltype(real);
      auto to = out->mutable_data<T>();
      for (std::size_t i = 0; i < from.size(); ++i) {
        const std::size_t c = channels > 1 ? i / inner % channels : 0;
        const std::int64_t z =
            q.zero_point.empty()
                ? 0
                : q.zero_point[q.zero_point.size() == 1 ? 0 : std::min(c, q.zero_point.size() - 1)];
        to[i] = static_cast<T>(q.scale[c]) * static_cast<T>(static_cast<std::int64_t>(from[i]) - z);
      }
    };
    if (out->store() == Store::f64)
      run(double{});
    else
      run(float{});
  });
  call.outputs[0] = std::move(*out);
  return {};
}

template <class X, class Y>
void requantize_integers(const Tensor& x, Tensor& out) {
  const Affine from = affine(x), to = affine(out);
  const Multiplier m = quantize_multiplier(static_cast<double>(from.scale) / static_cast<double>(to.scale));
  const auto in = x.data<X>();
  auto into = out.mutable_data<Y>();
  for (std::size_t i = 0; i < in.size(); ++i)
    into[i] = saturate_to<Y>(
        static_cast<std::int64_t>(rescale(static_cast<std::int32_t>(in[i]) - from.zero, m)) + to.zero);
}

Status quantize(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (!per_tensor(*out)) return call.unsupported("without one scale for the result");
  Status done;
  with_store(out->store(), [&](auto zero) {
    using Y = decltype(zero);
    if constexpr (sizeof(Y) > 2) {
      done = call.unsupported(fmt::format("to {}", name(out->dtype)));
    } else if (x.is_float()) {
      const Affine q = affine(*out);
      auto to = out->mutable_data<Y>();
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = quantized_value<Y>(static_cast<float>(x.number(i)), q);
    } else if (!per_tensor(x)) {
      done = call.unsupported("of a tensor quantized per channel");
    } else {
      with_store(x.store(), [&](auto from) {
        using X = decltype(from);
        if constexpr (sizeof(X) <= 4 && !std::is_floating_point_v<X>)
          requantize_integers<X, Y>(x, *out);
        else
          done = call.unsupported(fmt::format("of {}", name(x.dtype)));
      });
    }
  });
  if (!done) return done;
  call.outputs[0] = std::move(*out);
  return {};
}

Status fake_quant(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const std::int64_t bits = call.attrs().integer("num_bits", 8);
  const float low = static_cast<float>(call.attrs().number("min")),
              high = static_cast<float>(call.attrs().number("max"));
  if (!x.is_float() || bits < 2 || bits > 16 || !(low < high)) return call.unsupported("with these bounds");
  const float first = call.attrs().flag("narrow_range") ? 1.0f : 0.0f,
              last = static_cast<float>((1 << bits) - 1);
  const float scale = (high - low) / (last - first);
  const float zero = std::clamp(std::round(first - low / scale), first, last);
  const float nudged_low = (first - zero) * scale, nudged_high = (last - zero) * scale;
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  with_store(x.store(), [&](auto z) {
    using T = decltype(z);
    if constexpr (std::is_floating_point_v<T>) {
      const auto from = x.data<T>();
      auto to = out->mutable_data<T>();
      for (std::size_t i = 0; i < from.size(); ++i) {
        const float clamped = std::min(std::max(static_cast<float>(from[i]), nudged_low), nudged_high);
        to[i] = static_cast<T>(std::floor((clamped - nudged_low) / scale + 0.5f) * scale + nudged_low);
      }
    }
  });
  call.outputs[0] = std::move(*out);
  return {};
}

/// The constant was expanded when it was read.
Status densify(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  call.forward(0, call.in(0), call.in(0).shape);
  return {};
}

}  // namespace

std::span<const KernelEntry> quantization_kernels() {
  static const std::array rows = {
      KernelEntry{"DEQUANTIZE", dequantize},
      KernelEntry{"QUANTIZE", quantize},
      KernelEntry{"FAKE_QUANT", fake_quant},
      KernelEntry{"DENSIFY", densify},
  };
  return rows;
}

}  // namespace md
