// Kernels of operators that carry a state along a sequence: linear attention, causal convolutions.
#include "lib/format/onnx/heads.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;
using onnx::give_heads;
using onnx::Heads;
using onnx::heads_of;

// Linear attention: a state of keys by values instead of scores.

struct LinearRule {
  bool decays = false, corrects = false;
};

/// [batch, length, heads or heads * keys] of decay, or [batch, length, heads or 1] of beta.
template <class T>
T entry_of(const As<T>& x, std::size_t width, std::size_t row, std::size_t head, std::size_t heads,
           std::size_t k) {
  const std::size_t each = width / std::max<std::size_t>(heads, 1);
  return x[row * width + (width == 1 ? 0 : each <= 1 ? head : head * each + k)];
}

/// query, key, value, past state, decay, beta: a state a head is written with each key and read by each
/// query.
Status linear_attention(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const std::string_view name = call.attrs().text("update_rule", "gated_delta");
  const LinearRule rule{.decays = name == "gated" || name == "gated_delta",
                        .corrects = name == "delta" || name == "gated_delta"};
  const std::int64_t q_heads = call.attrs().integer("q_num_heads"),
                     kv_heads = call.attrs().integer("kv_num_heads");
  if (!rule.decays && !rule.corrects && name != "linear") return call.unsupported("with this rule");
  if ((rule.decays && !call.has(4)) || (rule.corrects && !call.has(5)))
    return call.bad("an operand of its rule is missing");
  return with_floats(call, call.in(0).dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const auto q = heads_of<T>(call.in(0), q_heads), k = heads_of<T>(call.in(1), kv_heads),
               v = heads_of<T>(call.in(2), kv_heads);
    if (!q || !k || !v || q->batch != k->batch || v->batch != k->batch || q->length != k->length ||
        v->length != k->length || q->size != k->size || q->heads % k->heads || v->heads != k->heads)
      return call.bad("queries, keys and values that do not fit");
    const std::size_t keys = k->size, values = v->size, rows = k->batch * k->length;
    const std::size_t wide = rule.decays && rows ? call.in(4).size() / rows : 1,
                      narrow = rule.corrects && rows ? call.in(5).size() / rows : 1;
    if (rule.decays && (wide * rows != call.in(4).size() || (wide != k->heads && wide != k->heads * keys)))
      return call.bad("a decay that does not fit");
    if (rule.corrects && (narrow * rows != call.in(5).size() || (narrow != 1 && narrow != k->heads)))
      return call.bad("a beta that does not fit");
    std::vector<T> state(k->batch * k->heads * keys * values, T(0));
    if (call.has(3)) {
      const As<T> past(call.in(3));
      if (past.size() != state.size()) return call.bad("a state that does not fit");
      std::copy(past.span().begin(), past.span().end(), state.begin());
    }
    if (auto fits =
            charge(call, 8 * static_cast<double>(rows) * static_cast<double>(q->heads * keys * values));
        !fits)
      return fits;
    const As<T> decay(call.has(4) ? call.in(4) : call.in(0)), beta(call.has(5) ? call.in(5) : call.in(0));
    const double given = call.attrs().number("scale", 0);
    const T scale = static_cast<T>(
        given != 0 ? given : 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(keys, 1))));
    Heads<T> out{q->batch, q->heads, q->length, values,
                 std::vector<T>(q->batch * q->heads * q->length * values)};
    const std::size_t repeats = q->heads / k->heads;
    for (std::size_t b = 0; b < k->batch; ++b)
      for (std::size_t h = 0; h < k->heads; ++h) {
        T* s = state.data() + (b * k->heads + h) * keys * values;
        for (std::size_t t = 0; t < k->length; ++t) {
          const std::size_t row = b * k->length + t;
          const T* key = k->row(b, h, t);
          std::vector<T> value(v->row(b, h, t), v->row(b, h, t) + values);
          if (rule.decays)
            for (std::size_t i = 0; i < keys; ++i) {
              const T factor = std::exp(entry_of<T>(decay, wide, row, h, k->heads, i));
              for (std::size_t j = 0; j < values; ++j) s[i * values + j] *= factor;
            }
          if (rule.corrects)
            for (std::size_t j = 0; j < values; ++j) {
              T known = T(0);
              for (std::size_t i = 0; i < keys; ++i) known += s[i * values + j] * key[i];
              value[j] = entry_of<T>(beta, narrow, row, h, k->heads, 0) * (value[j] - known);
            }
          for (std::size_t i = 0; i < keys; ++i)
            for (std::size_t j = 0; j < values; ++j) s[i * values + j] += key[i] * value[j];
          for (std::size_t r = 0; r < repeats; ++r) {
            const T* query = q->row(b, h * repeats + r, t);
            for (std::size_t j = 0; j < values; ++j) {
              T sum = T(0);
              for (std::size_t i = 0; i < keys; ++i) sum += query[i] * s[i * values + j];
              out.row(b, h * repeats + r, t)[j] = scale * sum;
            }
          }
        }
      }
    if (auto ok = give_heads(call, 0, out, true); !ok) return ok;
    if (!onnx::wants(call, 1)) return {};
    const Shape shape = {static_cast<std::int64_t>(k->batch), static_cast<std::int64_t>(k->heads),
                         static_cast<std::int64_t>(keys), static_cast<std::int64_t>(values)};
    return give_numbers<T>(call, 1, shape,
                           [&](std::span<T> to) { std::copy(state.begin(), state.end(), to.begin()); });
  });
}

/// A window over each channel, behind what is left of the row before it.
Status causal_convolution(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &w = call.in(1);
  if (x.rank() != 3 || w.rank() != 3 || w.shape[0] != x.shape[1] || w.shape[1] != 1 || w.shape[2] < 1)
    return call.bad("weights that do not fit");
  const std::size_t batch = at(x.shape[0]), channels = at(x.shape[1]), length = at(x.shape[2]),
                    taps = at(w.shape[2]), past = taps - 1;
  if ((call.has(2) && call.in(2).size() != channels) ||
      (call.has(3) && call.in(3).size() != batch * channels * past))
    return call.bad("a bias or state that does not fit");
  const std::string_view activation = call.attrs().text("activation", "none");
  if (auto fits = charge(call, static_cast<double>(x.size()) * static_cast<double>(taps)); !fits) return fits;
  return with_floats(call, x.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const As<T> from(x), weights(w), bias(call.has(2) ? call.in(2) : w), before(call.has(3) ? call.in(3) : w);
    std::vector<T> last;
    auto done = give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      for (std::size_t row = 0; row < batch * channels; ++row) {
        std::vector<T> line(past + length, T(0));
        if (call.has(3)) std::copy_n(before.data() + row * past, past, line.begin());
        std::copy_n(from.data() + row * length, length, line.begin() + static_cast<std::ptrdiff_t>(past));
        const std::size_t c = row % channels;
        for (std::size_t i = 0; i < length; ++i) {
          T sum = call.has(2) ? bias[c] : T(0);
          for (std::size_t k = 0; k < taps; ++k) sum += line[i + k] * weights[c * taps + k];
          to[row * length + i] = activation == "none" ? sum : sum / (T(1) + std::exp(-sum));
        }
        last.insert(last.end(), line.end() - static_cast<std::ptrdiff_t>(past), line.end());
      }
    });
    if (!done || !onnx::wants(call, 1)) return done;
    return give_numbers<T>(call, 1, {x.shape[0], x.shape[1], static_cast<std::int64_t>(past)},
                           [&](std::span<T> to) { std::copy(last.begin(), last.end(), to.begin()); });
  });
}

constexpr KernelEntry entries[] = {
    {"CausalConvWithState", causal_convolution},
    {"LinearAttention", linear_attention},
};

}  // namespace

std::span<const KernelEntry> onnx_state_kernels() { return entries; }

}  // namespace md
