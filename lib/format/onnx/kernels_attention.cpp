// Kernels of attention and rotary positions.
#include "lib/format/onnx/heads.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;
using onnx::attend;
using onnx::give_heads;
using onnx::Heads;
using onnx::heads_of;
using onnx::Masks;
using onnx::prepend;
using onnx::Scores;

/// Attention of the default domain: query, key, value, mask, past key and value, valid keys.
Status attention(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Attributes& attrs = call.attrs();
  const bool joined = call.in(0).rank() == 3;
  const std::int64_t q_heads = attrs.integer("q_num_heads"), kv_heads = attrs.integer("kv_num_heads");
  Masks masks{.mask = call.has(3) ? &call.in(3) : nullptr,
              .causal = attrs.flag("is_causal"),
              .valid = onnx::operand_numbers(call, 6),
              .left = attrs.integer("left_window_size", -1),
              .right = attrs.integer("right_window_size", -1)};
  return with_floats(call, call.in(0).dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    auto q = heads_of<T>(call.in(0), q_heads), k = heads_of<T>(call.in(1), kv_heads),
         v = heads_of<T>(call.in(2), kv_heads);
    if (!q || !k || !v) return call.bad("operands of another rank, or heads that do not fit");
    if (call.has(4)) masks.past = call.in(4).rank() == 4 ? call.in(4).shape[2] : 0;
    if ((call.has(4) && !prepend(*k, call.in(4))) || (call.has(5) && !prepend(*v, call.in(5))))
      return call.bad("a past that does not fit");
    Scores how{
        .scale = attrs.number("scale", 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(q->size, 1)))),
        .softcap = attrs.number("softcap", 0)};
    // Before opset 24 the mask came in front of the cap: modes 1 and 2 changed places.
    how.shown = static_cast<int>(attrs.integer("qk_matmul_output_mode"));
    if (how.shown == 1 || how.shown == 2) how.shown = how.shown == 1 && how.softcap <= 0 ? 1 : how.shown;
    Heads<T> out;
    std::vector<T> shown;
    if (auto ok = attend<T>(call, *q, *k, *v, masks, how, out, onnx::wants(call, 3) ? &shown : nullptr); !ok)
      return ok;
    if (auto ok = give_heads(call, 0, out, joined); !ok) return ok;
    if (auto ok = give_heads(call, 1, *k, false); !ok) return ok;
    if (auto ok = give_heads(call, 2, *v, false); !ok) return ok;
    if (!onnx::wants(call, 3)) return {};
    const Shape shape = {static_cast<std::int64_t>(q->batch), static_cast<std::int64_t>(q->heads),
                         static_cast<std::int64_t>(q->length), static_cast<std::int64_t>(k->length)};
    return give_numbers<T>(call, 3, shape,
                           [&](std::span<T> to) { std::copy(shown.begin(), shown.end(), to.begin()); });
  });
}

/// com.microsoft.MultiHeadAttention with separate operands; packed and biased forms are not evaluated.
Status multi_head(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  for (std::size_t i : {3, 4, 8, 9})
    if (call.has(i)) return call.unsupported("with this operand");
  if (call.in(0).rank() != 3 || call.in(1).rank() != 3) return call.unsupported("in this layout");
  const std::int64_t heads = call.attrs().integer("num_heads");
  Masks masks{.mask = call.has(5) ? &call.in(5) : nullptr, .causal = call.attrs().flag("unidirectional")};
  return with_floats(call, call.in(0).dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    auto q = heads_of<T>(call.in(0), heads), k = heads_of<T>(call.in(1), heads),
         v = heads_of<T>(call.in(2), heads);
    if (!q || !k || !v) return call.bad("heads that do not fit");
    if (call.has(6)) masks.past = call.in(6).rank() == 4 ? call.in(6).shape[2] : 0;
    if ((call.has(6) && !prepend(*k, call.in(6))) || (call.has(7) && !prepend(*v, call.in(7))))
      return call.bad("a past that does not fit");
    const double given = call.attrs().number("scale", 0);
    const Scores how{
        .scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(q->size, 1)))};
    Heads<T> out;
    if (auto ok = attend<T>(call, *q, *k, *v, masks, how, out, nullptr); !ok) return ok;
    if (auto ok = give_heads(call, 0, out, true); !ok) return ok;
    if (auto ok = give_heads(call, 1, *k, false); !ok) return ok;
    return give_heads(call, 2, *v, false);
  });
}

/// Pairs of each head's elements turned by an angle: cos and sin of it by position.
Status rotary(KernelCall& call) {
  const bool microsoft = !call.node.custom.empty();  // input, positions, cos, sin
  const std::size_t c = microsoft ? 2 : 1, s = microsoft ? 3 : 2, p = microsoft ? 1 : 3;
  if (!call.has(0) || !call.has(c) || !call.has(s)) return call.bad("an operand is missing");
  const Tensor &x = call.in(0), &cosines = call.in(c), &sines = call.in(s);
  const auto positions = onnx::operand_numbers(call, p);
  std::int64_t heads = call.attrs().integer("num_heads");
  if (cosines.shape != sines.shape || cosines.rank() < 2) return call.bad("tables that do not fit");
  const std::int64_t half = cosines.shape.back();
  if (x.rank() == 3 && heads == 0) {
    const std::int64_t size = call.attrs().integer("rotary_embedding_dim") ? 0 : 2 * half;
    if (size == 0 || x.shape[2] % size) return call.bad("no number of heads");
    heads = x.shape[2] / size;
  }
  const bool interleaved = call.attrs().flag("interleaved");
  return with_floats(call, x.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    auto all = heads_of<T>(x, heads);
    if (!all) return call.bad("heads that do not fit");
    const As<T> cosine(cosines), sine(sines);
    if (2 * half > static_cast<std::int64_t>(all->size)) return call.bad("tables wider than a head");
    const std::size_t n = at(half);
    for (std::size_t b = 0; b < all->batch; ++b)
      for (std::size_t i = 0; i < all->length; ++i) {
        std::int64_t place = static_cast<std::int64_t>(b * all->length + i);
        if (positions && !positions->empty()) {
          if (positions->size() == 1)
            place = (*positions)[0] + static_cast<std::int64_t>(i);
          else if (at(place) < positions->size())
            place = (*positions)[at(place)];
          else
            return call.bad("positions that do not fit");
        }
        if (place < 0 || at(place + 1) * n > cosine.size()) return call.bad("a position outside the tables");
        const T *cos = cosine.data() + at(place) * n, *sin = sine.data() + at(place) * n;
        for (std::size_t h = 0; h < all->heads; ++h) {
          T* row = all->row(b, h, i);
          for (std::size_t k = 0; k < n; ++k) {
            T &first = row[interleaved ? 2 * k : k], &second = row[interleaved ? 2 * k + 1 : n + k];
            const T re = cos[k] * first - sin[k] * second, im = sin[k] * first + cos[k] * second;
            first = re, second = im;
          }
        }
      }
    return give_heads(call, 0, *all, x.rank() == 3);
  });
}

constexpr KernelEntry entries[] = {
    {"Attention", attention},
    {"RotaryEmbedding", rotary},
    {"com.microsoft.MultiHeadAttention", multi_head, 0, false, "com.microsoft"},
    {"com.microsoft.RotaryEmbedding", rotary, 0, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_attention_kernels() { return entries; }

}  // namespace md
