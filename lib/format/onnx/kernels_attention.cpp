// Kernels of attention and rotary positions.
#include <cmath>
#include <limits>

#include "lib/eval/limits.h"
#include "lib/eval/primitives/contraction.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;

/// [batch, heads, length, size], from rank 3 with the heads in the last axis or rank 4.
template <class T>
struct Heads {
  std::size_t batch = 0, heads = 0, length = 0, size = 0;
  std::vector<T> numbers;
  const T* row(std::size_t b, std::size_t h, std::size_t i) const {
    return numbers.data() + ((b * heads + h) * length + i) * size;
  }
  T* row(std::size_t b, std::size_t h, std::size_t i) {
    return numbers.data() + ((b * heads + h) * length + i) * size;
  }
  Shape shape() const {
    return {static_cast<std::int64_t>(batch), static_cast<std::int64_t>(heads),
            static_cast<std::int64_t>(length), static_cast<std::int64_t>(size)};
  }
};

template <class T>
std::optional<Heads<T>> heads_of(const Tensor& x, std::int64_t heads) {
  const As<T> from(x);
  Heads<T> out;
  if (x.rank() == 4) {
    out.batch = at(x.shape[0]), out.heads = at(x.shape[1]), out.length = at(x.shape[2]),
    out.size = at(x.shape[3]);
    out.numbers.assign(from.span().begin(), from.span().end());
    return out;
  }
  if (x.rank() != 3 || heads < 1 || x.shape[2] % heads) return std::nullopt;
  out.batch = at(x.shape[0]), out.heads = at(heads), out.length = at(x.shape[1]),
  out.size = at(x.shape[2] / heads);
  out.numbers.resize(x.size());
  for (std::size_t b = 0; b < out.batch; ++b)
    for (std::size_t i = 0; i < out.length; ++i)
      for (std::size_t h = 0; h < out.heads; ++h)
        std::copy_n(from.data() + ((b * out.length + i) * out.heads + h) * out.size, out.size,
                    out.row(b, h, i));
  return out;
}

/// The past's rows in front.
template <class T>
bool prepend(Heads<T>& now, const Tensor& past) {
  const auto before = heads_of<T>(past, 0);
  if (!before || before->batch != now.batch || before->heads != now.heads || before->size != now.size)
    return false;
  Heads<T> all{now.batch, now.heads, before->length + now.length, now.size, {}};
  all.numbers.resize(all.batch * all.heads * all.length * all.size);
  for (std::size_t b = 0; b < now.batch; ++b)
    for (std::size_t h = 0; h < now.heads; ++h) {
      for (std::size_t i = 0; i < before->length; ++i)
        std::copy_n(before->row(b, h, i), now.size, all.row(b, h, i));
      for (std::size_t i = 0; i < now.length; ++i)
        std::copy_n(now.row(b, h, i), now.size, all.row(b, h, before->length + i));
    }
  now = std::move(all);
  return true;
}

struct Masks {
  const Tensor* mask = nullptr;  ///< broadcast to [batch, heads, queries, keys]
  bool causal = false;
  std::int64_t past = 0;                 ///< keys that precede the queries
  std::optional<onnx::Numbers> valid{};  ///< keys a batch
  std::int64_t left = -1, right = -1;    ///< the window around a query; -1: unbounded
};

/// What is added to a score; -inf: the key is not looked at.
class Bias {
 public:
  Bias(const Masks& masks, std::size_t queries) : m_(masks), queries_(static_cast<std::int64_t>(queries)) {
    if (!m_.mask) return;
    strides_ = strides_of(m_.mask->shape);
  }
  double of(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    constexpr double none = -std::numeric_limits<double>::infinity();
    const bool own_offset = m_.past == 0 && m_.valid;
    const std::int64_t offset = own_offset ? (*m_.valid)[at(b)] - queries_ : m_.past, place = i + offset;
    if (m_.causal && j > place) return none;
    if (m_.left >= 0 && place - j > m_.left) return none;
    if (m_.right >= 0 && j - place > m_.right) return none;
    if (m_.valid && j >= (*m_.valid)[at(b)]) return none;
    if (!m_.mask) return 0;
    const std::int64_t index[] = {b, h, i, j};
    std::int64_t p = 0;
    const std::size_t rank = m_.mask->shape.size();
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t k = index[4 - rank + d], n = m_.mask->shape[d];
      if (d + 1 == rank && k >= n && n != 1) return none;  // a mask shorter than the keys
      if (n != 1) p += k * strides_[d];
    }
    const double v = m_.mask->number(at(p));
    return m_.mask->dtype == DType::boolean ? (v != 0 ? 0 : none) : v;
  }
  bool fits(std::int64_t batch, std::int64_t heads, std::int64_t queries, std::int64_t keys) const {
    if (m_.valid && static_cast<std::int64_t>(m_.valid->size()) != batch) return false;
    if (!m_.mask) return true;
    const std::int64_t sizes[] = {batch, heads, queries, keys};
    const std::size_t rank = m_.mask->shape.size();
    if (rank > 4) return false;
    for (std::size_t d = 0; d < rank; ++d)
      if (const std::int64_t n = m_.mask->shape[d];
          n != 1 && (d + 1 == rank ? n > keys : n != sizes[4 - rank + d]))
        return false;
    return true;
  }

 private:
  const Masks& m_;
  std::int64_t queries_;
  std::vector<std::int64_t> strides_;
};

struct Scores {
  double scale = 1, softcap = 0;
  int shown = 0;  ///< which scores the last result shows: raw, capped, masked, after softmax
};

/// Softmax of a row; a row without any key is 0.
template <class T>
void weights_of(std::vector<T>& row) {
  T top = -std::numeric_limits<T>::infinity();
  bool nan = false;
  for (const T v : row) top = std::max(top, v), nan = nan || v != v;
  if (std::isinf(top) && top < 0 && !nan) return std::fill(row.begin(), row.end(), T(0));
  T sum = T(0);
  for (T& v : row) v = std::exp(v - top), sum += v;
  for (T& v : row) v /= sum;
}

template <class T>
Status attend(KernelCall& call, const Heads<T>& q, const Heads<T>& k, const Heads<T>& v, const Masks& masks,
              const Scores& how, Heads<T>& out, std::vector<T>* shown) {
  if (k.batch != q.batch || v.batch != q.batch || k.heads != v.heads || k.length != v.length ||
      q.size != k.size || k.heads == 0 || q.heads % k.heads)
    return call.bad("queries, keys and values that do not fit");
  const Bias bias(masks, q.length);
  if (!bias.fits(static_cast<std::int64_t>(q.batch), static_cast<std::int64_t>(q.heads),
                 static_cast<std::int64_t>(q.length), static_cast<std::int64_t>(k.length)))
    return call.bad("a mask that does not fit");
  const double pairs =
      static_cast<double>(q.batch * q.heads) * static_cast<double>(q.length) * static_cast<double>(k.length);
  if (auto fits = charge(call, pairs * static_cast<double>(q.size + v.size + 8)); !fits) return fits;
  out = {q.batch, q.heads, q.length, v.size, std::vector<T>(q.batch * q.heads * q.length * v.size)};
  const std::size_t repeats = q.heads / k.heads;
  const T root = static_cast<T>(std::sqrt(how.scale));
  std::vector<T> row(k.length), scaled(q.size), keys(k.length * k.size);
  for (std::size_t b = 0; b < q.batch; ++b)
    for (std::size_t h = 0; h < q.heads; ++h) {
      const T* all = k.row(b, h / repeats, 0);
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = all[i] * root;
      for (std::size_t i = 0; i < q.length; ++i) {
        for (std::size_t d = 0; d < q.size; ++d) scaled[d] = q.row(b, h, i)[d] * root;
        contract<T>(call, scaled.data(), keys.data(), {}, row.data(), k.length, 1, k.length, k.size);
        const auto show = [&](int stage) {
          if (shown && how.shown == stage) shown->insert(shown->end(), row.begin(), row.end());
        };
        show(0);
        if (how.softcap > 0)
          for (T& s : row) s = static_cast<T>(how.softcap) * std::tanh(s / static_cast<T>(how.softcap));
        show(1);
        bool any = k.length == 0;
        for (std::size_t j = 0; j < k.length; ++j) {
          const double add = bias.of(static_cast<std::int64_t>(b), static_cast<std::int64_t>(h),
                                     static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
          any = any || !(std::isinf(add) && add < 0);
          row[j] += static_cast<T>(add);
        }
        show(2);
        if (!any) std::fill(row.begin(), row.end(), -std::numeric_limits<T>::infinity());
        weights_of(row);
        show(3);
        contract_plain<T>(call, row.data(), k.length, v.row(b, h / repeats, 0), v.size, out.row(b, h, i),
                          v.size, 1, v.size, k.length);
      }
    }
  return {};
}

/// Back to rank 3 where the heads were in the last axis.
template <class T>
Status give_heads(KernelCall& call, std::size_t i, const Heads<T>& x, bool joined) {
  if (!onnx::wants(call, i)) return {};
  if (!joined)
    return give_numbers<T>(call, i, x.shape(), [&](std::span<T> to) {
      std::copy(x.numbers.begin(), x.numbers.end(), to.begin());
    });
  const Shape shape = {static_cast<std::int64_t>(x.batch), static_cast<std::int64_t>(x.length),
                       static_cast<std::int64_t>(x.heads * x.size)};
  return give_numbers<T>(call, i, shape, [&](std::span<T> to) {
    for (std::size_t b = 0; b < x.batch; ++b)
      for (std::size_t k = 0; k < x.length; ++k)
        for (std::size_t h = 0; h < x.heads; ++h)
          std::copy_n(x.row(b, h, k), x.size, to.data() + ((b * x.length + k) * x.heads + h) * x.size);
  });
}

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

// --- linear attention: a state of keys by values instead of scores

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
    {"Attention", attention},
    {"CausalConvWithState", causal_convolution},
    {"LinearAttention", linear_attention},
    {"RotaryEmbedding", rotary},
    {"com.microsoft.MultiHeadAttention", multi_head, 0, false, "com.microsoft"},
    {"com.microsoft.RotaryEmbedding", rotary, 0, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_attention_kernels() { return entries; }

}  // namespace md
