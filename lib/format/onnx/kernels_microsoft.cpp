// Kernels of com.microsoft operators that ONNX Runtime's optimizer and exporters write: each is the default
// domain's operators that it stands for, in a row.
#include <cmath>

#include "lib/eval/primitives/functions.h"
#include "lib/eval/primitives/products.h"
#include "lib/format/onnx/heads.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;
using onnx::Numbers;

/// Adds a bias of the last axis; nothing where there is none.
template <class T>
bool add_bias(std::span<T> to, const Tensor* bias) {
  if (!bias) return true;
  if (bias->size() == 0 || to.size() % bias->size()) return false;
  const As<T> numbers(*bias);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += numbers[i % numbers.size()];
  return true;
}

Status bias_add(KernelCall& call) {  // input, bias, skip
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor &x = call.in(0), &skip = call.in(2);
  if (skip.shape != x.shape) return call.bad("a skip that does not fit");
  bool fits = true;
  const auto done = with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> a(x), b(skip);
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = a[i] + b[i];
      fits = add_bias(to, &call.in(1));
    });
  });
  return fits ? done : Status(call.bad("a bias that does not fit"));
}

/// The left half times gelu of the right one.
Status bias_split_gelu(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &bias = call.in(1);
  if (x.rank() < 1 || x.shape.back() % 2 || static_cast<std::int64_t>(bias.size()) != x.shape.back())
    return call.bad("a bias that does not fit");
  const std::size_t half = at(x.shape.back() / 2);
  Shape shape = x.shape;
  shape.back() /= 2;
  return with_floats(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x), added(bias);
    return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        const std::size_t row = i / half * 2 * half, k = i % half;
        to[i] = (from[row + k] + added[k]) * gelu_by_erf(from[row + half + k] + added[half + k]);
      }
    });
  });
}

/// Integers less their zero point, times the scale; one of each, or one a column.
Result<Tensor> restored(KernelCall& call, const Tensor& x, const Tensor& scale, const Tensor* zero) {
  auto out = call.make(DType::f32, x.shape);
  if (!out) return out;
  const std::size_t columns = x.rank() ? at(x.shape.back()) : 1;
  for (const Tensor* t : {&scale, zero})
    if (t && t->size() != 1 && t->size() != columns) return call.bad("scales or zero points that do not fit");
  std::vector<double> numbers(x.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t k = i % std::max<std::size_t>(columns, 1);
    const double z = zero ? zero->number(zero->size() == 1 ? 0 : k) : 0;
    numbers[i] = (x.number(i) - z) * scale.number(scale.size() == 1 ? 0 : k);
  }
  cast_numbers(std::span<const double>(numbers), *out);
  return out;
}

Status give_product(KernelCall& call, const Tensor& a, const Tensor& b, const Tensor* bias) {
  const auto made = matrix_product(call, a, b, DType::f32);
  if (!made) return tl::make_unexpected(made.error());
  bool fits = true;
  const auto done = with_floats(call, DType::f32, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(*made);
    return give_numbers<T>(call, 0, made->shape, [&](std::span<T> to) {
      std::copy(from.span().begin(), from.span().end(), to.begin());
      fits = add_bias(to, bias);
    });
  });
  return fits ? done : Status(call.bad("a bias that does not fit"));
}

/// A, B, scale of A, scale of B, zero point of A, zero point of B, bias.
Status matmul_integer_to_float(KernelCall& call) {
  if (auto ok = call.need(4); !ok) return ok;
  const auto a = restored(call, call.in(0), call.in(2), call.has(4) ? &call.in(4) : nullptr),
             b = restored(call, call.in(1), call.in(3), call.has(5) ? &call.in(5) : nullptr);
  if (!a) return tl::make_unexpected(a.error());
  if (!b) return tl::make_unexpected(b.error());
  return give_product(call, *a, *b, call.has(6) ? &call.in(6) : nullptr);
}

/// A as DynamicQuantizeLinear gives it, B in integers with scale, zero point and bias behind.
Status dynamic_matmul(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor& x = call.in(0);
  std::vector<double> numbers = x.numbers();
  double low = 0, high = 0;
  for (const double v : numbers) low = std::min(low, v), high = std::max(high, v);
  const double scale = static_cast<double>(static_cast<float>(high - low) / 255.0f);
  const double zero = scale == 0 ? 0 : std::clamp(std::nearbyint(-low / scale), 0.0, 255.0);
  for (double& v : numbers)
    v = scale == 0 ? 0 : (std::clamp(std::nearbyint(v / scale) + zero, 0.0, 255.0) - zero) * scale;
  auto a = call.make(DType::f32, x.shape);
  if (!a) return tl::make_unexpected(a.error());
  cast_numbers(std::span<const double>(numbers), *a);
  const auto b = restored(call, call.in(1), call.in(2), call.has(3) ? &call.in(3) : nullptr);
  if (!b) return tl::make_unexpected(b.error());
  return give_product(call, *a, *b, call.has(4) ? &call.in(4) : nullptr);
}

/// Input, weights [input, 3 * hidden], bias, mask: queries, keys and values in one product.
Status attention(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  if (call.has(4) || call.has(6)) return call.unsupported("with a past");
  const Tensor& x = call.in(0);
  const std::int64_t heads = call.attrs().integer("num_heads");
  if (x.rank() != 3 || heads < 1 || call.attrs().integers("qkv_hidden_sizes"))
    return call.unsupported("in this layout");
  const auto made = matrix_product(call, x, call.in(1), x.dtype);
  if (!made) return tl::make_unexpected(made.error());
  if (made->shape.back() % (3 * heads)) return call.bad("heads that do not fit");
  if (call.attrs().flag("unidirectional") && call.has(3) && call.in(3).rank() == 1)
    return call.unsupported("with this mask");
  onnx::Masks masks{.mask = nullptr, .causal = call.attrs().flag("unidirectional")};
  Tensor mask;
  if (call.has(3)) {  // [batch, keys] of marks, or how many keys a batch has
    if (call.in(3).rank() == 1 && call.in(3).shape[0] == x.shape[0]) {
      masks.valid = onnx::operand_numbers(call, 3);
    } else if (call.in(3).rank() == 2) {
      mask = Tensor::of_integers(DType::boolean, {call.in(3).shape[0], 1, 1, call.in(3).shape[1]},
                                 call.in(3).integers());
      masks.mask = &mask;
    } else {
      return call.unsupported("with this mask");
    }
  }
  return with_floats(call, x.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const As<T> from(*made);
    std::vector<T> all(from.span().begin(), from.span().end());
    if (!add_bias(std::span<T>(all), call.has(2) ? &call.in(2) : nullptr))
      return call.bad("a bias that does not fit");
    const std::size_t rows = at(x.shape[0] * x.shape[1]), hidden = at(made->shape.back() / 3),
                      size = hidden / at(heads);
    onnx::Heads<T> parts[3];
    for (std::size_t p = 0; p < 3; ++p) {
      parts[p] = {at(x.shape[0]), at(heads), at(x.shape[1]), size, std::vector<T>(rows * hidden)};
      for (std::size_t b = 0; b < parts[p].batch; ++b)
        for (std::size_t i = 0; i < parts[p].length; ++i)
          for (std::size_t h = 0; h < parts[p].heads; ++h)
            std::copy_n(all.data() + ((b * parts[p].length + i) * 3 + p) * hidden + h * size, size,
                        parts[p].row(b, h, i));
    }
    const double given = call.attrs().number("scale", 0);
    const onnx::Scores how{
        .scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(size, 1)))};
    onnx::Heads<T> out;
    if (auto ok = onnx::attend<T>(call, parts[0], parts[1], parts[2], masks, how, out, nullptr); !ok)
      return ok;
    return onnx::give_heads(call, 0, out, true);
  });
}

/// Words, segments and positions looked up, added and normalized.
Status embed_norm(KernelCall& call) {
  for (const std::size_t i : {0, 2, 3, 5, 6})
    if (!call.has(i)) return call.unsupported("with absent tables");
  const Tensor &ids = call.in(0), &words = call.in(2), &places = call.in(3);
  if (ids.rank() != 2 || words.rank() != 2 || places.rank() != 2 || words.shape[1] != places.shape[1])
    return call.bad("tables that do not fit");
  const bool segments = call.has(1) && call.has(4);
  const std::size_t length = at(ids.shape[1]), hidden = at(words.shape[1]);
  if (segments &&
      (call.in(1).size() != ids.size() || call.in(4).rank() != 2 || call.in(4).shape[1] != words.shape[1]))
    return call.bad("segments that do not fit");
  if (call.in(5).size() != hidden || call.in(6).size() != hidden ||
      (call.has(8) && call.in(8).size() % std::max<std::size_t>(length, 1)))
    return call.bad("a scale that does not fit");
  const double epsilon = call.attrs().number("epsilon", 1e-12);
  const Shape shape = {ids.shape[0], ids.shape[1], words.shape[1]};
  Status fits;
  const auto done = with_floats(call, words.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> word(words), place(places), gamma(call.in(5)), beta(call.in(6)),
        segment(segments ? call.in(4) : words);
    return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
      for (std::size_t r = 0; r < ids.size() && fits; ++r) {
        const std::int64_t w = ids.integer(r), s = segments ? call.in(1).integer(r) : 0,
                           p = call.has(8) ? call.in(8).integer(r % call.in(8).size())
                                           : static_cast<std::int64_t>(r % length);
        if (w < 0 || w >= words.shape[0] || p < 0 || p >= places.shape[0] || s < 0 ||
            (segments && s >= call.in(4).shape[0])) {
          fits = call.bad("an index outside its table");
          return;
        }
        T* row = to.data() + r * hidden;
        T mean = T(0), square = T(0);
        for (std::size_t k = 0; k < hidden; ++k) {
          row[k] = word[at(w) * hidden + k] + place[at(p) * hidden + k] +
                   (segments ? segment[at(s) * hidden + k] : T(0));
          mean += row[k];
        }
        mean /= static_cast<T>(hidden);
        for (std::size_t k = 0; k < hidden; ++k) square += (row[k] - mean) * (row[k] - mean);
        const T inverse = T(1) / std::sqrt(square / static_cast<T>(hidden) + static_cast<T>(epsilon));
        for (std::size_t k = 0; k < hidden; ++k) row[k] = (row[k] - mean) * inverse * gamma[k] + beta[k];
      }
    });
  });
  if (!done || !fits) return done ? fits : done;
  if (!onnx::wants(call, 1)) return {};
  Numbers counts;  // keys that a batch has: marks of the mask
  for (std::int64_t b = 0; b < ids.shape[0]; ++b) {
    std::int64_t n = 0;
    for (std::size_t i = 0; call.has(7) && i < length; ++i) n += call.in(7).integer(at(b) * length + i) != 0;
    counts.push_back(n);
  }
  return onnx::give_integers(call, 1, {ids.shape[0]}, counts);
}

constexpr std::string_view domain = "com.microsoft";
constexpr KernelEntry entries[] = {
    {"com.microsoft.Attention", attention, 0, false, domain},
    {"com.microsoft.BiasAdd", bias_add, 0, false, domain},
    {"com.microsoft.BiasSplitGelu", bias_split_gelu, 0, false, domain},
    {"com.microsoft.DynamicQuantizeMatMul", dynamic_matmul, 0, false, domain},
    {"com.microsoft.EmbedLayerNormalization", embed_norm, 0, false, domain},
    {"com.microsoft.MatMulIntegerToFloat", matmul_integer_to_float, 0, false, domain},
};

}  // namespace

std::span<const KernelEntry> onnx_microsoft_kernels() { return entries; }

}  // namespace md
