// Kernels of aten operators that write through indices: sums there are kept in the arithmetic of the mode,
// one after the other.
#include "lib/eval/primitives/axis_rows.h"
#include "lib/eval/primitives/typed.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/indices.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// What becomes of an element and one more source.
enum class Combine { replace, sum, product, largest, smallest, mean };

std::optional<Combine> combine_of(std::string_view word) {
  if (word.empty()) return Combine::replace;
  if (word == "sum" || word == "add") return Combine::sum;
  if (word == "prod" || word == "multiply") return Combine::product;
  if (word == "amax") return Combine::largest;
  if (word == "amin") return Combine::smallest;
  if (word == "mean") return Combine::mean;
  return std::nullopt;
}

template <class T>
T combined(const KernelCall& call, Combine kind, T a, T b) {
  if (kind == Combine::replace) return b;
  if (kind == Combine::product) return times(a, b);
  if (kind == Combine::largest) return a != a ? a : b != b || b > a ? b : a;
  if (kind == Combine::smallest) return a != a ? a : b != b || b < a ? b : a;
  const T sum = plus(a, b);
  if constexpr (std::is_same_v<T, float>)
    if (call.mode().sums_in_f16()) return round_to_f16(sum, call.mode().saturate);
  return sum;
}

/// Source element from[k] meets the operand's element to[k], in this order.
struct Writes {
  std::vector<std::int64_t> to, from;
  Combine kind = Combine::replace;
  bool include_self = true;
  double factor = 1;  ///< of the sources
};

template <class T>
void write_all(KernelCall& call, const As<T>& src, const Writes& w, std::span<T> out) {
  std::vector<std::int64_t> met(out.size(), w.include_self ? 1 : 0);
  for (std::size_t k = 0; k < w.to.size(); ++k) {
    const std::size_t place = at(w.to[k]);
    T next = src[at(w.from[k])];
    if (w.factor != 1) next = times(next, static_cast<T>(w.factor));
    out[place] = met[place] ? combined(call, w.kind, out[place], next) : next;
    ++met[place];
    if (call.options.watch_sums) call.watch(static_cast<double>(out[place]));
  }
  for (std::size_t i = 0; w.kind == Combine::mean && i < out.size(); ++i)
    if (met[i] > 1) out[i] = static_cast<T>(out[i] / static_cast<T>(met[i]));
}

Status give_written(KernelCall& call, const Tensor& x, const Tensor& src, const Writes& w) {
  if (x.lanes() != 1 || src.lanes() != 1) return call.unsupported("on complex values");
  return with_arithmetic(call, call.out_value().dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> own(x), sources(src);
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      std::copy(own.span().begin(), own.span().end(), to.begin());
      write_all<T>(call, sources, w, to);
    });
  });
}

/// scatter, scatter_add and scatter_reduce.
Status scatter(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *index = c.operand("index");
  const std::string base = aten_base(call.node.op);
  const auto src = c.value(c.operand("src") ? "src" : "value");
  if (!x || !index || !src || x->rank() != index->rank() || x->rank() == 0 ||
      (src->rank() != 0 && src->rank() != x->rank()))
    return c.bad("operands that do not fit");
  const auto kind = combine_of(base == "aten.scatter_add" ? "sum" : call.attrs().text("reduce", ""));
  if (!kind) return call.unsupported("of this reduction");
  auto to = element_places(call, *x, *index, c.dim("dim", x->rank()));
  if (!to) return tl::make_unexpected(to.error());
  Writes w{
      std::move(*to), {}, *kind, base != "aten.scatter_reduce" || call.attrs().flag("include_self", true)};
  const auto strides = strides_of(src->shape);
  for (std::size_t d = 0; d < src->shape.size(); ++d)
    if (index->shape[d] > src->shape[d]) return c.bad("more indices than elements");
  for_each_index(index->shape, [&](const std::vector<std::int64_t>& i) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < src->shape.size(); ++d) from += i[d] * strides[d];
    w.from.push_back(from);
  });
  return give_written(call, *x, *src, w);
}

Status index_put(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *values = c.operand("values");
  Shape shape;
  const auto indices = x ? indices_of(*x, c.operands("indices")) : std::nullopt;
  auto places = indices && values ? places_of(*x, *indices, shape) : std::nullopt;
  if (!places || x->lanes() != 1) return call.unsupported("with these operands");
  const auto fits = broadcast_shapes({values->shape, shape});
  if (!fits || *fits != shape) return c.bad("values that do not fit the marked rows");
  const Writes w{std::move(*places), broadcast_positions(values->shape, shape),
                 c.attrs().flag("accumulate") ? Combine::sum : Combine::replace};
  return give_written(call, *x, *values, w);
}

/// index_add, index_copy and index_fill: whole slices of one axis.
Status index_rows(KernelCall& call) {
  AtenCall c(call);
  const std::string base = aten_base(call.node.op);
  const Tensor *x = c.operand("self"), *index = c.operand("index");
  const auto src = c.value(base == "aten.index_fill" ? "value" : "source");
  const int dim = x && x->rank() ? c.dim("dim", x->rank()) : -1;
  if (!index || !src || dim < 0 || index->is_float() || index->rank() > 1)
    return c.bad("operands that do not fit");
  const bool fills = base == "aten.index_fill";
  const AxisRows r = rows_along(x->shape, at(dim));
  const auto rows = index->integers();
  Shape expected = x->shape;
  expected[at(dim)] = static_cast<std::int64_t>(rows.size());
  if (!fills && src->shape != expected) return c.bad("a source that does not fit");
  if (fills && src->size() != 1) return c.bad("a value that is no number");
  Writes w;
  w.kind = base == "aten.index_add" ? Combine::sum : Combine::replace;
  w.factor = c.number("alpha", 1);
  for (std::size_t o = 0; o < r.outer; ++o)
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const std::int64_t row = rows[k] < 0 ? rows[k] + x->shape[at(dim)] : rows[k];
      if (row < 0 || row >= x->shape[at(dim)]) return c.bad("an index outside the tensor");
      for (std::size_t i = 0; i < r.inner; ++i) {
        w.to.push_back(static_cast<std::int64_t>((o * r.length + at(row)) * r.inner + i));
        w.from.push_back(fills ? 0 : static_cast<std::int64_t>((o * rows.size() + k) * r.inner + i));
      }
    }
  return give_written(call, *x, *src, w);
}

/// The marked elements, in order, from the elements of the source.
Status masked_scatter(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *mask = c.operand("mask"), *source = c.operand("source");
  if (!x || !mask || !source || mask->dtype != DType::boolean) return c.bad("operands that do not fit");
  const auto shape = broadcast_shapes({x->shape, mask->shape});
  if (!shape || *shape != x->shape) return c.bad("a mask that does not fit");
  const auto from = broadcast_positions(mask->shape, *shape);
  const auto marks = mask->integers();
  Writes w;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (marks[at(from[i])])
      w.from.push_back(static_cast<std::int64_t>(w.to.size())), w.to.push_back(static_cast<std::int64_t>(i));
  if (w.to.size() > source->size()) return c.bad("fewer values than marks");
  return give_written(call, *x, *source, w);
}

constexpr KernelEntry entries[] = {
    {"aten.scatter.src", scatter},
    {"aten.scatter.value", scatter},
    {"aten.scatter_.src", scatter},
    {"aten.scatter_.value", scatter},
    {"aten.scatter_add.default", scatter},
    {"aten.scatter_add_.default", scatter},
    {"aten.scatter_reduce.two", scatter},
    {"aten.scatter_reduce_.two", scatter},
    {"aten.index_put.default", index_put},
    {"aten.index_put_.default", index_put},
    {"aten.index_add.default", index_rows},
    {"aten.index_add_.default", index_rows},
    {"aten.index_copy.default", index_rows},
    {"aten.index_copy_.default", index_rows},
    {"aten.index_fill.int_Scalar", index_rows},
    {"aten.index_fill.int_Tensor", index_rows},
    {"aten.masked_scatter.default", masked_scatter},
};

}  // namespace

std::span<const KernelEntry> aten_scatter_kernels() { return entries; }

}  // namespace md
