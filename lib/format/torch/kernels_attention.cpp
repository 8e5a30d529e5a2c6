// Kernel of scaled_dot_product_attention.
#include <limits>

#include "lib/eval/limits.h"
#include "lib/eval/primitives/contraction.h"
#include "lib/eval/primitives/softmax.h"
#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/call.h"

namespace md {
namespace {

struct Attention {
  const Tensor *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr;
  Shape batch;
  std::size_t rows = 0, columns = 0, depth = 0, width = 0;
  std::vector<std::int64_t> at_q, at_k, at_v;  ///< matrix of each operand for every element of the batch
  std::vector<std::int64_t> at_mask;           ///< first element of the mask's matrix
  std::size_t mask_row = 0, mask_column = 0;   ///< steps of the mask; 0: broadcast
  double scale = 1;
  bool causal = false;
};

Shape batch_of(const Tensor& t) { return Shape(t.shape.begin(), t.shape.end() - 2); }

/// With grouped queries several heads of the query read one of the keys.
std::vector<std::int64_t> grouped_positions(std::size_t count, std::int64_t heads, std::int64_t key_heads) {
  std::vector<std::int64_t> at;
  for (std::int64_t p = 0; p < static_cast<std::int64_t>(count); ++p)
    at.push_back(p / heads * key_heads + p % heads / (heads / key_heads));
  return at;
}

Status place_mask(KernelCall& call, Attention& a) {
  const Shape& shape = a.mask->shape;
  Shape scores = a.batch;
  scores.push_back(static_cast<std::int64_t>(a.rows)), scores.push_back(static_cast<std::int64_t>(a.columns));
  if (broadcast_shapes({shape, scores}) != std::optional(scores)) return call.bad("a mask that does not fit");
  const std::int64_t columns = shape.empty() ? 1 : shape.back(),
                     rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  a.mask_column = columns == 1 ? 0 : 1, a.mask_row = rows == 1 ? 0 : static_cast<std::size_t>(columns);
  const Shape lead = shape.size() < 2 ? Shape{} : Shape(shape.begin(), shape.end() - 2);
  a.at_mask = broadcast_positions(lead, a.batch);
  for (std::int64_t& at : a.at_mask) at *= rows * columns;
  return {};
}

Result<Attention> described(KernelCall& call) {
  AtenCall c(call);
  Attention a;
  a.q = c.operand("query"), a.k = c.operand("key"), a.v = c.operand("value"), a.mask = c.operand("attn_mask");
  for (const Tensor* t : {a.q, a.k, a.v})
    if (!t || t->rank() < 2 || t->lanes() != 1 || !t->is_float())
      return call.unsupported("with these operands");
  if (call.attrs().number("dropout_p") != 0) return call.unsupported("with dropout");
  const auto sizes = [](const Tensor& t) {
    return std::pair(static_cast<std::size_t>(t.shape[t.shape.size() - 2]),
                     static_cast<std::size_t>(t.shape.back()));
  };
  std::tie(a.rows, a.depth) = sizes(*a.q);
  std::tie(a.columns, a.width) = std::pair(sizes(*a.k).first, sizes(*a.v).second);
  if (sizes(*a.k).second != a.depth || sizes(*a.v).first != a.columns)
    return call.bad("sizes that do not fit");
  if (call.attrs().flag("enable_gqa") && a.q->rank() > 2) {
    a.batch = batch_of(*a.q);
    const std::int64_t heads = a.batch.back(), key_heads = batch_of(*a.k).back();
    if (a.k->rank() != a.q->rank() || a.v->rank() != a.q->rank() || key_heads < 1 || heads % key_heads ||
        batch_of(*a.v) != batch_of(*a.k))
      return call.bad("heads that do not fit");
    const auto count = static_cast<std::size_t>(product(a.batch));
    if (product(batch_of(*a.k)) * (heads / key_heads) != product(a.batch))
      return call.bad("heads that do not fit");
    a.at_q = broadcast_positions(a.batch, a.batch);
    a.at_k = a.at_v = grouped_positions(count, heads, key_heads);
  } else {
    const auto batch = broadcast_shapes({batch_of(*a.q), batch_of(*a.k), batch_of(*a.v)});
    if (!batch) return call.bad("batches that do not fit");
    a.batch = *batch;
    a.at_q = broadcast_positions(batch_of(*a.q), a.batch),
    a.at_k = broadcast_positions(batch_of(*a.k), a.batch);
    a.at_v = broadcast_positions(batch_of(*a.v), a.batch);
  }
  if (a.mask)
    if (auto ok = place_mask(call, a); !ok) return tl::make_unexpected(ok.error());
  a.scale = c.given("scale") ? call.attrs().number("scale") : 1 / std::sqrt(static_cast<double>(a.depth));
  a.causal = call.attrs().flag("is_causal");
  return a;
}

/// Scores of one row, scaled and masked, to weights. A row without anything to look at gives zeros.
template <class T>
void weigh(const Attention& a, T* row, std::size_t i, const T* mask, bool marks) {
  constexpr T never = -std::numeric_limits<T>::infinity();
  bool any = false;
  for (std::size_t j = 0; j < a.columns; ++j) {
    T s = row[j] * static_cast<T>(a.scale);
    if (mask) {
      const T m = mask[i * a.mask_row + j * a.mask_column];
      s = !marks ? s + m : m != T(0) ? s : never;
    }
    if (a.causal && j > i) s = never;
    any = any || s != never;
    row[j] = s;
  }
  if (any)
    softmax_row(row, row, a.columns, T(1), false);
  else
    std::fill(row, row + a.columns, T(0));
}

/// softmax(q k^T scale + mask) v with broadcast batches.
Status attention(KernelCall& call) {
  const auto a = described(call);
  if (!a) return tl::make_unexpected(a.error());
  Shape shape = a->batch;
  shape.push_back(static_cast<std::int64_t>(a->rows)), shape.push_back(static_cast<std::int64_t>(a->width));
  const double work = static_cast<double>(a->at_q.size()) * static_cast<double>(a->rows * a->columns) *
                      static_cast<double>(a->depth + a->width + 10);
  if (auto fits = charge(call, work); !fits) return fits;
  if (a->rows * a->columns > static_cast<std::size_t>(call.options.max_bytes) / sizeof(double))
    return call.unsupported("of scores past the limit of memory");
  return with_floats(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> q(*a->q), k(*a->k), v(*a->v);
    std::optional<As<T>> mask;
    if (a->mask) mask.emplace(*a->mask);
    const bool marks = a->mask && a->mask->dtype == DType::boolean;
    std::vector<T> scores(a->rows * a->columns);
    return give_numbers<T>(call, 0, shape, [&](std::span<T> to) {
      for (std::size_t p = 0; p < a->at_q.size(); ++p) {
        const auto first = [&](const std::vector<std::int64_t>& at, std::size_t matrix) {
          return static_cast<std::size_t>(at[p]) * matrix;
        };
        contract<T>(call, q.data() + first(a->at_q, a->rows * a->depth),
                    k.data() + first(a->at_k, a->columns * a->depth), {}, scores.data(), a->columns, a->rows,
                    a->columns, a->depth);
        const T* own_mask = mask ? mask->data() + first(a->at_mask, 1) : nullptr;
        for (std::size_t i = 0; i < a->rows; ++i)
          weigh<T>(*a, scores.data() + i * a->columns, i, own_mask, marks);
        contract_plain<T>(call, scores.data(), a->columns, v.data() + first(a->at_v, a->columns * a->width),
                          a->width, to.data() + p * a->rows * a->width, a->width, a->rows, a->width,
                          a->columns);
      }
    });
  });
}

constexpr KernelEntry entries[] = {
    {"aten.scaled_dot_product_attention.default", attention},
};

}  // namespace

std::span<const KernelEntry> aten_attention_kernels() { return entries; }

}  // namespace md
