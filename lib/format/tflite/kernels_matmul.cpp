// FULLY_CONNECTED and BATCH_MATMUL.
#include <array>

#include "lib/eval/primitives/broadcast.h"
#include "lib/eval/primitives/contraction.h"
#include "lib/eval/primitives/hybrid.h"
#include "lib/eval/primitives/quantized.h"
#include "lib/eval/primitives/strided.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

template <class T>
Status dense_float(KernelCall& call, const Tensor& x, const Tensor& w, Tensor& out, Activation activation) {
  const auto n = static_cast<std::size_t>(w.shape[0]), k = static_cast<std::size_t>(w.shape[1]);
  std::span<const T> bias;
  if (call.has(2)) {
    if (call.in(2).store() != out.store() || call.in(2).size() != n) return call.bad("the bias does not fit");
    bias = call.in(2).data<T>();
  }
  contract<T>(call, x.data<T>().data(), w.data<T>().data(), bias, out.mutable_data<T>().data(), n,
              k ? x.size() / k : 0, n, k);
  activate<T>(activation, out.mutable_data<T>());
  return {};
}

template <class X, class W>
Status dense_quantized(KernelCall& call, const Tensor& x, const Tensor& w, Tensor& out,
                       Activation activation) {
  const auto n = static_cast<std::size_t>(w.shape[0]), k = static_cast<std::size_t>(w.shape[1]);
  const auto r = requantization(call, x, w, out, w.shape[0], activation, usual_scaling(x));
  if (!r) return tl::make_unexpected(r.error());
  if (call.has(2) && (call.in(2).is_float() || call.in(2).size() != n))
    return call.bad("the bias does not fit");
  const auto a = x.data<X>();
  const auto b = w.data<W>();
  auto to = out.mutable_data<X>();
  for (std::size_t i = 0; i < x.size() / k; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const std::int32_t wz = r->weight_zero[r->weight_zero.size() == 1 ? 0 : j];
      std::int64_t sum = call.has(2) ? call.in(2).integer(j) : 0;
      for (std::size_t t = 0; t < k; ++t)
        sum += static_cast<std::int64_t>(a[i * k + t] - r->in_zero) * (b[j * k + t] - wz);
      to[i * n + j] = static_cast<X>(requantize(*r, sum, j));
    }
  return {};
}

Status fully_connected(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const Tensor& w = call.in(1);
  const auto activation = fused_activation(call.attrs());
  if (!activation) return call.unsupported("with this fused activation");
  if (call.attrs().text("weights_format", "DEFAULT") != "DEFAULT")
    return call.unsupported("with shuffled weights");
  if (w.rank() != 2 || x.rank() < 1 || w.shape[1] == 0 || static_cast<std::int64_t>(x.size()) % w.shape[1])
    return call.bad(
        fmt::format("input {} and weights {} do not fit", shape_text(x.shape), shape_text(w.shape)));
  Shape shape = {static_cast<std::int64_t>(x.size()) / w.shape[1], w.shape[0]};
  if (call.attrs().flag("keep_num_dims")) {
    if (x.shape.back() != w.shape[1]) return call.bad("the last dimension is not the weights' depth");
    shape = x.shape;
    shape.back() = w.shape[0];
  }
  auto out = call.make_output(0, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  Status done;
  if (x.store() == Store::f32 && w.store() == Store::f32 && out->store() == Store::f32)
    done = dense_float<float>(call, x, w, *out, *activation);
  else if (x.store() == Store::f64 && w.store() == Store::f64 && out->store() == Store::f64)
    done = dense_float<double>(call, x, w, *out, *activation);
  else if (x.is_float() && out->is_float())
    done = hybrid_dense(call, x, w, *out, *activation);
  else if (x.store() == Store::i8 && w.store() == Store::i8 && out->store() == Store::i8)
    done = dense_quantized<std::int8_t, std::int8_t>(call, x, w, *out, *activation);
  else if (x.store() == Store::u8 && w.store() == Store::u8 && out->store() == Store::u8)
    done = dense_quantized<std::uint8_t, std::uint8_t>(call, x, w, *out, *activation);
  else if (x.store() == Store::i16 && w.store() == Store::i8 && out->store() == Store::i16)
    done = dense_quantized<std::int16_t, std::int8_t>(call, x, w, *out, *activation);
  else
    return call.unsupported(fmt::format("on {} and {}", name(x.dtype), name(w.dtype)));
  if (!done) return done;
  call.outputs[0] = std::move(*out);
  return {};
}

/// One operand of a batched product as [batch..., rows, k], transposed when asked.
Result<Tensor> arranged(KernelCall& call, const Tensor& x, bool transposed) {
  if (!transposed) return x;
  View view = whole(x.shape);
  std::swap(view.dims[view.dims.size() - 1], view.dims[view.dims.size() - 2]);
  std::swap(view.steps[view.steps.size() - 1], view.steps[view.steps.size() - 2]);
  auto out = call.make(x.dtype, view.dims);
  if (!out) return out;
  out->quantization = x.quantization;
  read_view(x, view, *out);
  return out;
}

template <class T>
void batch_quantized(const T* a, const T* b, T* c, std::size_t m, std::size_t n, std::size_t k,
                     const Requantization& r) {
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      for (std::size_t t = 0; t < k; ++t)
        sum += static_cast<std::int64_t>(a[i * k + t] - r.in_zero) * (b[j * k + t] - r.weight_zero[0]);
      c[i * n + j] = static_cast<T>(requantize(r, sum, 0));
    }
}

Status batch_matmul(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  if (call.in(0).rank() < 2 || call.in(1).rank() < 2) return call.bad("needs rank 2 at least");
  // Both brought to rows of k: the left as [.., m, k], the right as [.., n, k].
  const auto left = arranged(call, call.in(0), call.attrs().flag("adj_x"));
  if (!left) return tl::make_unexpected(left.error());
  const auto right = arranged(call, call.in(1), !call.attrs().flag("adj_y"));
  if (!right) return tl::make_unexpected(right.error());
  const auto lead = [](const Shape& s) { return Shape(s.begin(), s.end() - 2); };
  const auto batch = broadcast_shape(lead(left->shape), lead(right->shape));
  if (!batch || left->shape.back() != right->shape.back())
    return call.bad(
        fmt::format("{} and {} do not fit", shape_text(call.in(0).shape), shape_text(call.in(1).shape)));
  const auto m = static_cast<std::size_t>(left->shape[left->shape.size() - 2]),
             n = static_cast<std::size_t>(right->shape[right->shape.size() - 2]);
  const auto k = static_cast<std::size_t>(left->shape.back());
  Shape shape = *batch;
  shape.insert(shape.end(), {static_cast<std::int64_t>(m), static_cast<std::int64_t>(n)});
  auto out = call.make_output(0, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  if (left->store() != right->store() || left->store() != out->store())
    return call.bad(fmt::format("operand types {} and {} differ", name(left->dtype), name(right->dtype)));
  std::optional<Requantization> r;
  if (!out->is_float()) {
    auto made = requantization(call, *left, *right, *out, 1, Activation::none,
                               left->store() == Store::i16 ? Requantization::Scaling::fixed_point_wide
                                                           : Requantization::Scaling::fixed_point);
    if (!made) return tl::make_unexpected(made.error());
    r = std::move(*made);
  }
  const Shape left_lead = lead(left->shape), right_lead = lead(right->shape);
  const Shape* shapes[] = {&left_lead, &right_lead};
  const BroadcastPlan plan(*batch, shapes);
  Status done;
  with_store(out->store(), [&](auto zero) {
    using T = decltype(zero);
    const T* a = left->data<T>().data();
    const T* b = right->data<T>().data();
    T* c = out->mutable_data<T>().data();
    plan.each_row([&](std::size_t at, std::size_t count, const auto& offset, const auto& step) {
      for (std::size_t i = 0; i < count; ++i) {
        const T* ai = a + (offset[0] + i * step[0]) * m * k;
        const T* bi = b + (offset[1] + i * step[1]) * n * k;
        T* ci = c + (at + i) * m * n;
        if constexpr (std::is_floating_point_v<T>)
          contract<T>(call, ai, bi, {}, ci, n, m, n, k);
        else if constexpr (sizeof(T) <= 2)
          batch_quantized<T>(ai, bi, ci, m, n, k, *r);
      }
    });
    if (!std::is_floating_point_v<T> && sizeof(T) > 2)
      done = call.unsupported(fmt::format("on {}", name(out->dtype)));
  });
  if (!done) return done;
  call.outputs[0] = std::move(*out);
  return {};
}

}  // namespace

std::span<const KernelEntry> matmul_kernels() {
  static const std::array rows = {
      KernelEntry{"FULLY_CONNECTED", fully_connected},
      KernelEntry{"BATCH_MATMUL", batch_matmul},
  };
  return rows;
}

}  // namespace md
