// Inference of matrix products, recurrent operators and attention.
#include <algorithm>

#include "lib/format/onnx/infer_rules.h"

namespace md::onnx {
namespace {

std::optional<Shape> product_shape(Site& s, Shape a, Shape b) {
  if (a.empty() || b.empty()) return s.no("an operand has no dimensions"), std::nullopt;
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const std::int64_t k = a.back(), n = b[b.size() - 2];
  if (k >= 0 && n >= 0 && k != n) return s.no("the inner dimensions differ"), std::nullopt;
  const Shape batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
  auto shape = broadcast_shape(batch_a, batch_b);
  if (!shape) return s.no("the batch dimensions do not broadcast"), std::nullopt;
  if (!row) shape->push_back(a[a.size() - 2]);
  if (!column) shape->push_back(b.back());
  return shape;
}

template <std::size_t second>
void matmul(Site& s) {
  if (!s.ranked(second)) return;
  Shape a = s.shape(0), b = s.shape(second);
  if (s.attrs().flag("transA") && a.size() > 1) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (s.attrs().flag("transB") && b.size() > 1) std::swap(b[b.size() - 1], b[b.size() - 2]);
  if (s.attrs().flag("transBatchA") || s.attrs().flag("transBatchB")) return;
  if (auto shape = product_shape(s, std::move(a), std::move(b))) s.give(0, std::move(*shape));
}

void gemm(Site& s) {
  const Shape &a = s.shape(0), &b = s.shape(1);
  if (a.size() != 2 || b.size() != 2) return s.no("expected matrices");
  const bool ta = s.attrs().flag("transA"), tb = s.attrs().flag("transB");
  const std::int64_t k = a[ta ? 0 : 1], n = b[tb ? 1 : 0];
  if (k >= 0 && n >= 0 && k != n) return s.no("the inner dimensions differ");
  s.give(0, {a[ta ? 1 : 0], b[tb ? 0 : 1]});
}

void matmul_bits(Site& s) {
  Shape shape = s.shape(0);
  if (shape.empty()) return;
  shape.back() = s.attrs().integer("N", dynamic_dim);
  s.give(0, std::move(shape));
}

/// ijk,kl->ijl with one size a letter.
void einsum(Site& s) {
  std::string text;
  for (const char c : s.attrs().text("equation"))
    if (c != ' ') text += c;
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow), right;
  std::map<char, std::int64_t> sizes;
  std::map<char, int> seen;
  Shape batch;
  std::size_t operand = 0;
  while (operand < s.operands.size()) {
    if (!s.ranked(operand)) return;
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::string term = left.substr(0, comma);
    left.erase(0, std::min(comma + 1, left.size()));
    const Shape& x = s.shape(operand++);
    const std::size_t dots = term.find("...");
    const std::size_t named = term.size() - (dots == std::string::npos ? 0 : 3);
    if (named > x.size() || (dots == std::string::npos && named != x.size()))
      return s.no("a term of the equation does not have the operand's rank");
    std::size_t d = 0;
    for (std::size_t c = 0; c < term.size(); ++c) {
      if (c == dots) {
        const Shape part(x.begin() + static_cast<std::ptrdiff_t>(d),
                         x.begin() + static_cast<std::ptrdiff_t>(d + x.size() - named));
        auto joined = broadcast_shape(batch, part);
        if (!joined) return s.no("the dimensions of the dots do not broadcast");
        batch = std::move(*joined);
        d += x.size() - named, c += 2;
        continue;
      }
      auto [at, added] = sizes.emplace(term[c], x[d]);
      if (!added && (at->second < 0 || at->second == 1)) at->second = x[d];
      ++seen[term[c]], ++d;
    }
  }
  if (arrow != std::string::npos) {
    right = text.substr(arrow + 2);
  } else {
    if (text.find("...") != std::string::npos) right = "...";
    for (const auto& [letter, count] : seen)
      if (count == 1) right += letter;
  }
  Shape shape;
  for (std::size_t c = 0; c < right.size(); ++c) {
    if (right.compare(c, 3, "...") == 0) {
      shape.insert(shape.end(), batch.begin(), batch.end());
      c += 2;
    } else {
      const auto at = sizes.find(right[c]);
      if (at == sizes.end()) return s.no("the result names a letter that no operand has");
      shape.push_back(at->second);
    }
  }
  s.give(0, std::move(shape));
}

void recurrent(Site& s) {
  const Shape& x = s.shape(0);
  if (x.size() != 3) return s.no("expected an operand of rank 3");
  const std::int64_t directions = s.attrs().text("direction", "forward") == "bidirectional" ? 2 : 1;
  std::int64_t hidden = s.attrs().integer("hidden_size", dynamic_dim);
  if (hidden < 0 && s.ranked(2) && s.shape(2).size() == 3) hidden = s.shape(2)[2];
  if (s.attrs().flag("layout")) {
    s.give(0, {x[0], x[1], directions, hidden});
    s.give(1, {x[0], directions, hidden}), s.give(2, {x[0], directions, hidden});
  } else {
    s.give(0, {x[0], directions, x[1], hidden});
    s.give(1, {directions, x[1], hidden}), s.give(2, {directions, x[1], hidden});
  }
}

/// Attention of the default domain: heads in a dimension of their own (rank 4), or in the last one.
void attention(Site& s) {
  if (!s.ranked(1) || !s.ranked(2)) return;
  const Shape &q = s.shape(0), &k = s.shape(1), &v = s.shape(2);
  if (q.size() != k.size() || q.size() != v.size()) return;
  const std::int64_t q_heads = q.size() == 4 ? q[1] : s.attrs().integer("q_num_heads"),
                     kv_heads = q.size() == 4 ? k[1] : s.attrs().integer("kv_num_heads");
  const auto split = [](std::int64_t n, std::int64_t heads) {
    return n < 0 || heads < 1 ? dynamic_dim : n / heads;
  };
  std::int64_t past = 0;
  if (s.has(4)) past = s.ranked(4) && s.shape(4).size() == 4 ? s.shape(4)[2] : dynamic_dim;
  const auto plus = [](std::int64_t a, std::int64_t b) { return a < 0 || b < 0 ? dynamic_dim : a + b; };
  if (q.size() == 4) {
    s.give(0, {q[0], q[1], q[2], v[3]});
    const std::int64_t total = plus(k[2], past);
    s.give(1, {k[0], k[1], total, k[3]});
    s.give(2, {v[0], v[1], total, v[3]});
    s.give(3, {q[0], q[1], q[2], total});
  } else if (q.size() == 3) {
    s.give(0, {q[0], q[1], times(split(v[2], kv_heads), q_heads)});
    const std::int64_t total = plus(k[1], past);
    s.give(1, {k[0], kv_heads, total, split(k[2], kv_heads)});
    s.give(2, {v[0], kv_heads, total, split(v[2], kv_heads)});
    s.give(3, {q[0], q_heads, q[1], total});
  }
}

void fused_attention(Site& s) {  // com.microsoft.Attention: weights [input, 3 * hidden]
  Shape shape = s.shape(0);
  if (!s.ranked(1) || s.shape(1).size() != 2 || shape.size() != 3) return;
  if (const auto* sizes = s.attrs().integers("qkv_hidden_sizes"); sizes && sizes->size() == 3)
    shape.back() = (*sizes)[2];
  else
    shape.back() = s.shape(1)[1] < 0 ? dynamic_dim : s.shape(1)[1] / 3;
  s.give(0, std::move(shape));
}

void multi_head(Site& s) {
  const Shape& q = s.shape(0);
  if (q.size() == 3 && s.ranked(2) && s.shape(2).size() == 3)
    s.give(0, {q[0], q[1], s.shape(2)[2]});
  else if (q.size() == 3 && !s.has(2) && !s.has(1))
    s.give(0, {q[0], q[1], q[2] < 0 ? dynamic_dim : q[2] / 3});
}

/// A state a head beside the queries' length of values.
void linear_attention(Site& s) {
  const Shape &q = s.shape(0), &k = s.shape(1), &v = s.shape(2);
  if (q.size() != 3 || k.size() != 3 || v.size() != 3) return;
  const std::int64_t q_heads = s.attrs().integer("q_num_heads"), kv_heads = s.attrs().integer("kv_num_heads");
  if (q_heads < 1 || kv_heads < 1) return;
  const auto split = [](std::int64_t n, std::int64_t heads) { return n < 0 ? dynamic_dim : n / heads; };
  s.give(0, {q[0], q[1], times(split(v[2], kv_heads), q_heads)});
  s.give(1, {q[0], kv_heads, split(k[2], kv_heads), split(v[2], kv_heads)});
  if (s.out.size() > 1 && s.out[1].dtype == DType::unknown) s.out[1].dtype = s.dtype(0);
}

void causal_convolution(Site& s) {
  const Shape &x = s.shape(0), &w = s.shape(1);
  if (x.size() != 3 || w.size() != 3) return s.no("expected operands of rank 3");
  s.give(0, x);
  s.give(1, {x[0], x[1], w[2] < 1 ? dynamic_dim : w[2] - 1});
}

void group_query(Site& s) {
  if (s.shape(0).size() == 3 && s.has(1)) s.give(0, s.shape(0));
}

constexpr Rule rules[] = {
    {"MatMul MatMulInteger FusedMatMul TransposeMatMul DynamicQuantizeMatMul MatMulIntegerToFloat", matmul<1>,
     2},
    {"QLinearMatMul", matmul<3>},
    {"Gemm FusedGemm GemmFastGelu", gemm, 2},
    {"MatMulNBits MatMulBnb4", matmul_bits},
    {"Einsum", einsum, 0},
    {"LSTM GRU RNN", recurrent},
    {"Attention", attention, 3},
    {"com.microsoft.Attention", fused_attention, 2},
    {"MultiHeadAttention", multi_head},
    {"GroupQueryAttention", group_query},
    {"LinearAttention", linear_attention, 3},
    {"CausalConvWithState", causal_convolution, 2},
};

}  // namespace

std::span<const Rule> product_rules() { return rules; }

}  // namespace md::onnx
