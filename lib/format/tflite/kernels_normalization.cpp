// Operators along an axis: SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION.
#include <array>

#include "lib/eval/primitives/quantized.h"
#include "lib/eval/primitives/softmax.h"
#include "lib/eval/primitives/sums.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

/// int8 and uint8: exponentials from a table by the distance to the row's largest element, as the runtime's
/// kernel has it.
template <class X, class Y>
void softmax_table(const Tensor& x, Tensor& out, std::size_t n, float beta) {
  const Affine in = affine(x), to = affine(out);
  float table[256];
  for (int distance = 0; distance < 256; ++distance)
    table[distance] = std::exp(-in.scale * beta * static_cast<float>(distance));
  const auto from = x.data<X>();
  auto into = out.mutable_data<Y>();
  for (std::size_t at = 0; n && at + n <= from.size(); at += n) {
    const X top = *std::max_element(from.begin() + static_cast<std::ptrdiff_t>(at),
                                    from.begin() + static_cast<std::ptrdiff_t>(at + n));
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += table[top - from[at + i]];
    const float inverse = 1.0f / (sum * to.scale);
    for (std::size_t i = 0; i < n; ++i)
      into[at + i] =
          saturate_to<Y>(static_cast<std::int64_t>(table[top - from[at + i]] * inverse + 0.5f) + to.zero);
  }
}

template <class T>
void softmax_rows(const Tensor& x, Tensor& out, std::size_t n, T beta, bool logarithm) {
  const auto from = x.data<T>();
  auto to = out.mutable_data<T>();
  for (std::size_t at = 0; n && at + n <= from.size(); at += n)
    softmax_row(from.data() + at, to.data() + at, n, beta, logarithm);
}

Status softmax(KernelCall& call, bool logarithm) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.rank() < 1) return call.bad("needs rank 1 at least");
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  const auto n = static_cast<std::size_t>(x.shape.back());
  const double beta = call.attrs().number("beta", 1.0);
  if (x.store() == Store::f32 && out->store() == Store::f32) {
    softmax_rows<float>(x, *out, n, static_cast<float>(beta), logarithm);
  } else if (x.store() == Store::f64 && out->store() == Store::f64) {
    softmax_rows<double>(x, *out, n, beta, logarithm);
  } else if (x.quantization && out->quantization && per_tensor(x) && per_tensor(*out)) {
    const Affine qi = affine(x), qo = affine(*out);
    Status done;
    with_store(x.store(), [&](auto in_zero) {
      with_store(out->store(), [&](auto out_zero) {
        using X = decltype(in_zero);
        using Y = decltype(out_zero);
        if constexpr (sizeof(X) == 1 && sizeof(Y) <= 2) {
          if (!logarithm) return softmax_table<X, Y>(x, *out, n, static_cast<float>(beta));
        }
        if constexpr (sizeof(X) <= 2 && sizeof(Y) <= 2) {
          const auto from = x.data<X>();
          auto to = out->mutable_data<Y>();
          std::vector<float> row(n), result(n);
          for (std::size_t at = 0; n && at + n <= from.size(); at += n) {
            for (std::size_t i = 0; i < n; ++i)
              row[i] = qi.scale * static_cast<float>(from[at + i] - qi.zero);
            softmax_row(row.data(), result.data(), n, static_cast<float>(beta), logarithm);
            for (std::size_t i = 0; i < n; ++i) to[at + i] = quantized_value<Y>(result[i], qo);
          }
        } else {
          done = call.unsupported(fmt::format("on quantized {}", name(x.dtype)));
        }
      });
    });
    if (!done) return done;
  } else {
    return call.unsupported(fmt::format("from {} to {}", name(x.dtype), name(out->dtype)));
  }
  call.outputs[0] = std::move(*out);
  return {};
}
Status plain_softmax(KernelCall& call) { return softmax(call, false); }
Status log_softmax(KernelCall& call) { return softmax(call, true); }

template <class T>
void l2_rows(KernelCall& call, const Tensor& x, Tensor& out, std::size_t n) {
  const auto from = x.data<T>();
  auto to = out.mutable_data<T>();
  Summation summation(call.mode(), call.mode().sums_in_f16(), call.options.watch_sums);
  for (std::size_t at = 0; n && at + n <= from.size(); at += n) {
    const T sum = summation.sum<T>(n, [&](std::size_t i) { return from[at + i] * from[at + i]; });
    const T norm = std::max(std::sqrt(sum), static_cast<T>(1e-6f));
    for (std::size_t i = 0; i < n; ++i) to[at + i] = from[at + i] / norm;
  }
  call.watch(summation.largest());
}

Status l2_normalization(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.rank() < 1) return call.bad("needs rank 1 at least");
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  const auto n = static_cast<std::size_t>(x.shape.back());
  if (x.store() == Store::f32 && out->store() == Store::f32)
    l2_rows<float>(call, x, *out, n);
  else if (x.store() == Store::f64 && out->store() == Store::f64)
    l2_rows<double>(call, x, *out, n);
  else
    return call.unsupported(fmt::format("on {}", name(x.dtype)));
  if (const auto f = fused_activation(call.attrs()); !f || *f != Activation::none)
    return call.unsupported("with a fused activation");
  call.outputs[0] = std::move(*out);
  return {};
}

Status local_response(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.rank() < 1 || !x.is_float()) return call.unsupported(fmt::format("on {}", name(x.dtype)));
  auto out = call.make_output(0, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  const std::int64_t n = x.shape.back(), radius = call.attrs().integer("radius");
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T bias = static_cast<T>(call.attrs().number("bias")),
              alpha = static_cast<T>(call.attrs().number("alpha")),
              beta = static_cast<T>(call.attrs().number("beta"));
      const auto from = x.data<T>();
      auto to = out->mutable_data<T>();
      for (std::size_t i = 0; i < from.size(); ++i) {
        const std::int64_t c = static_cast<std::int64_t>(i) % n, row = static_cast<std::int64_t>(i) - c;
        T sum = 0;
        for (std::int64_t k = std::max<std::int64_t>(0, c - radius); k <= std::min(n - 1, c + radius); ++k)
          sum += from[static_cast<std::size_t>(row + k)] * from[static_cast<std::size_t>(row + k)];
        to[i] = from[i] * std::pow(bias + alpha * sum, -beta);
      }
    }
  });
  call.outputs[0] = std::move(*out);
  return {};
}

}  // namespace

std::span<const KernelEntry> normalization_kernels() {
  static const std::array rows = {
      KernelEntry{"SOFTMAX", plain_softmax},
      KernelEntry{"LOG_SOFTMAX", log_softmax},
      KernelEntry{"L2_NORMALIZATION", l2_normalization},
      KernelEntry{"LOCAL_RESPONSE_NORMALIZATION", local_response},
  };
  return rows;
}

}  // namespace md
