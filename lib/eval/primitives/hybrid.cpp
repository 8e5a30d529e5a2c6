#include "lib/eval/primitives/hybrid.h"
#include <limits>

#include "lib/eval/primitives/contraction.h"
#include "lib/eval/primitives/wrap.h"

namespace md {
namespace {

float weight_scale(const Tensor& w, std::size_t channel) {
  const auto& s = w.quantization->scale;
  return s[s.size() == 1 ? 0 : std::min(channel, s.size() - 1)];
}

}  // namespace

Tensor real_weights(const Tensor& w, bool wide) {
  return Tensor::of(DType::f32, w.shape, w.real_values(), wide);
}

DynamicRow quantize_row(const float* values, std::size_t n, std::size_t step) {
  float low = 0, high = 0;
  for (std::size_t i = 0; i < n; ++i)
    low = std::min(low, values[i * step]), high = std::max(high, values[i * step]);
  DynamicRow row;
  row.stored.resize(n);
  constexpr float first = -128, last = 127;
  const float scale = low == high ? 1.0f : (last - first) / (high - low);
  const float low_scaled = low * scale, high_scaled = high * scale;
  // The end of the range whose rounding error is smaller fixes the zero point.
  float zero = -(first + low_scaled) > last + high_scaled ? first - low_scaled : last - high_scaled;
  zero = std::min(std::max(zero, first), last);
  // Not a number where the row holds infinities: the machine's conversion gives the smallest integer then.
  row.zero = zero >= first ? static_cast<std::int32_t>(std::nearbyint(zero))
                           : std::numeric_limits<std::int32_t>::min();
  row.scale = 1.0f / scale;
  for (std::size_t i = 0; i < n; ++i) {
    const float q = std::nearbyint(values[i * step] * scale) + static_cast<float>(row.zero);
    row.stored[i] = static_cast<std::int8_t>(q >= last ? last : q > first ? q : first);
  }
  return row;
}

Status hybrid_dense(KernelCall& call, const Tensor& x, const Tensor& w, Tensor& out, Activation activation) {
  if (!w.quantization || (w.store() != Store::i8 && w.store() != Store::u8))
    return call.unsupported(fmt::format("with {} weights", name(w.dtype)));
  const auto n = static_cast<std::size_t>(w.shape[0]), k = static_cast<std::size_t>(w.shape[1]),
             m = x.size() / k;
  if (call.has(2) && call.in(2).size() != n) return call.bad("the bias does not fit");
  if (x.store() == Store::f64 || call.mode().is_f16()) {
    const Tensor real = real_weights(w, call.wide());
    with_store(x.store(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T>) {
        contract<T>(call, x.data<T>().data(), real.data<T>().data(),
                    call.has(2) ? call.in(2).data<T>() : std::span<const T>{}, out.mutable_data<T>().data(),
                    n, m, n, k);
        activate<T>(activation, out.mutable_data<T>());
      }
    });
    return {};
  }
  if (w.store() != Store::i8) return call.unsupported(fmt::format("with {} weights", name(w.dtype)));
  const auto a = x.data<float>();
  const auto b = w.data<std::int8_t>();
  auto to = out.mutable_data<float>();
  for (std::size_t i = 0; i < m; ++i) {
    const DynamicRow row = quantize_row(a.data() + i * k, k);
    for (std::size_t j = 0; j < n; ++j) {
      std::int32_t sum = 0;
      for (std::size_t t = 0; t < k; ++t)
        sum = plus(sum, times(minus<std::int32_t>(row.stored[t], row.zero), std::int32_t{b[j * k + t]}));
      const float bias = call.has(2) ? call.in(2).data<float>()[j] : 0.0f;
      to[i * n + j] = static_cast<float>(sum) * row.scale * weight_scale(w, j) + bias;
    }
  }
  activate<float>(activation, to);
  return {};
}

}  // namespace md
