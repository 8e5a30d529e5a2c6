// Attention over heads: queries, keys and values by head, masks, and the products between them.
#pragma once
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "lib/eval/limits.h"
#include "lib/eval/primitives/contraction.h"
#include "lib/format/onnx/call.h"

namespace md::onnx {

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
  std::int64_t past = 0;               ///< keys that precede the queries
  std::optional<Numbers> valid{};      ///< keys a batch
  std::int64_t left = -1, right = -1;  ///< the window around a query; -1: unbounded
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
  if (!wants(call, i)) return {};
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

}  // namespace md::onnx
