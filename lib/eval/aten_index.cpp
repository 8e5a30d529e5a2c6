// Kernels of aten operators that read or write through indices.
#include "lib/eval/aten_call.h"
#include "lib/graph/aten_view.h"

namespace md {
namespace {

/// scatter_add and scatter_reduce(sum).
Status scatter_add(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *index = c.operand("index"), *src = c.operand("src");
  if (!x || !index || !src || x->rank() != index->rank() || x->rank() != src->rank())
    return c.bad("operands that do not fit");
  if (aten_base(call.node.op) == "aten.scatter_reduce" &&
      (c.attrs().text("reduce") != "sum" || !c.attrs().flag("include_self", true)))
    return call.unsupported("of this reduction");
  const int dim = x->rank() ? c.dim("dim", x->rank()) : -1;
  if (dim < 0) return c.bad("an axis outside the tensor");
  for (std::size_t d = 0; d < index->shape.size(); ++d)
    if (index->shape[d] > src->shape[d] || (static_cast<int>(d) != dim && index->shape[d] > x->shape[d]))
      return c.bad("more indices than elements");
  const auto at = index->integers();
  const auto x_strides = strides_of(x->shape), s_strides = strides_of(src->shape);
  const std::int64_t size = x->shape[static_cast<std::size_t>(dim)];
  std::vector<double> sums;
  std::vector<std::int64_t> whole;
  const bool integers = !x->is_float();
  if (integers)
    whole = x->integers();
  else
    sums = x->numbers();
  const auto add_f = integers ? std::vector<double>{} : src->numbers();
  const auto add_i = integers ? src->integers() : std::vector<std::int64_t>{};
  std::size_t k = 0;
  bool good = true;
  for_each_index(index->shape, [&](const std::vector<std::int64_t>& i) {
    const std::int64_t target = at[k++];
    if (target < 0 || target >= size) return void(good = false);
    std::int64_t to = 0, from = 0;
    for (std::size_t d = 0; d < i.size(); ++d)
      to += (static_cast<int>(d) == dim ? target : i[d]) * x_strides[d], from += i[d] * s_strides[d];
    if (integers)
      whole[static_cast<std::size_t>(to)] =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(whole[static_cast<std::size_t>(to)]) +
                                    static_cast<std::uint64_t>(add_i[static_cast<std::size_t>(from)]));
    else
      sums[static_cast<std::size_t>(to)] += add_f[static_cast<std::size_t>(from)];
  });
  if (!good) return c.bad("an index outside the tensor");
  return integers ? c.give_integers(x->shape, whole) : c.give(x->shape, sums);
}

/// Rows (flat positions in the leading `axes` axes) that indices name; a boolean mask names its marked
/// elements.
std::optional<std::vector<std::int64_t>> rows_of(const Tensor& x, const std::vector<const Tensor*>& indices,
                                                 Shape& result, std::size_t& axes) {
  if (indices.size() != 1 || !indices[0]) return std::nullopt;
  const Tensor& index = *indices[0];
  const auto numbers = index.integers();
  std::vector<std::int64_t> rows;
  if (index.dtype == DType::boolean) {
    axes = index.shape.size();
    if (axes > x.shape.size() || !std::equal(index.shape.begin(), index.shape.end(), x.shape.begin()))
      return std::nullopt;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i]) rows.push_back(static_cast<std::int64_t>(i));
    result = {static_cast<std::int64_t>(rows.size())};
    return rows;
  }
  axes = 1;
  if (x.shape.empty()) return std::nullopt;
  for (std::int64_t n : numbers) {
    if (n < 0) n += x.shape[0];
    if (n < 0 || n >= x.shape[0]) return std::nullopt;
    rows.push_back(n);
  }
  result = index.shape;
  return rows;
}

std::int64_t row_size(const Shape& shape, std::size_t axes) {
  std::int64_t size = 1;
  for (std::size_t d = axes; d < shape.size(); ++d) size *= shape[d];
  return size;
}

Status index(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("self");
  Shape shape;
  std::size_t axes = 0;
  const auto rows = x ? rows_of(*x, c.operands("indices"), shape, axes) : std::nullopt;
  if (!rows) return call.unsupported("with these indices");
  const Shape& expected = call.out_value().shape;
  if (!expected.empty() && expected[0] >= 0 && shape.size() == 1 &&
      c.operands("indices")[0]->dtype == DType::boolean && expected[0] != shape[0])
    return c.bad("a mask with another number of marks than the program asserts");
  const std::int64_t size = row_size(x->shape, axes);
  std::vector<std::int64_t> from;
  for (const std::int64_t row : *rows)
    for (std::int64_t i = 0; i < size; ++i) from.push_back(row * size + i);
  shape.insert(shape.end(), x->shape.begin() + static_cast<std::ptrdiff_t>(axes), x->shape.end());
  return c.move(*x, shape, from);
}

Status index_put(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *values = c.operand("values");
  Shape shape;
  std::size_t axes = 0;
  const auto rows = x && values ? rows_of(*x, c.operands("indices"), shape, axes) : std::nullopt;
  if (!rows || !x->is_float() || x->lanes() != 1) return call.unsupported("with these operands");
  shape.insert(shape.end(), x->shape.begin() + static_cast<std::ptrdiff_t>(axes), x->shape.end());
  const auto fits = aten_broadcast({values->shape, shape});
  if (!fits || *fits != shape) return c.bad("values that do not fit the marked rows");
  const auto from = broadcast_positions(values->shape, shape);
  const std::int64_t size = row_size(x->shape, axes);
  std::vector<double> out = x->numbers();
  const auto written = values->numbers();
  std::size_t k = 0;
  for (const std::int64_t row : *rows)
    for (std::int64_t i = 0; i < size; ++i, ++k) {
      double& to = out[static_cast<std::size_t>(row * size + i)];
      to = written[static_cast<std::size_t>(from[k])] + (c.attrs().flag("accumulate") ? to : 0);
    }
  return c.give(x->shape, out);
}

Status index_select(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *which = c.operand("index");
  const int dim = x && x->rank() ? c.dim("dim", x->rank()) : -1;
  if (!which || dim < 0) return c.bad("operands that do not fit");
  const auto rows = which->integers();
  Shape out = x->shape;
  out[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(rows.size());
  const auto strides = strides_of(x->shape);
  std::vector<std::int64_t> from;
  bool good = true;
  for_each_index(out, [&](const std::vector<std::int64_t>& i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < i.size(); ++d) {
      const std::int64_t place = static_cast<int>(d) == dim ? rows[static_cast<std::size_t>(i[d])] : i[d];
      good = good && place >= 0 && place < x->shape[d];
      at += place * strides[d];
    }
    from.push_back(at);
  });
  // Marks past the last row of values: the original would have refused such a mask.
  if (!good) return c.bad("an index outside the tensor");
  return c.move(*x, out, from);
}

constexpr KernelEntry entries[] = {
    {"aten.scatter_add.default", scatter_add},
    {"aten.scatter_add_.default", scatter_add},
    {"aten.scatter_reduce.two", scatter_add},
    {"aten.scatter_reduce_.two", scatter_add},
    {"aten.index.Tensor", index},
    {"aten.index_put.default", index_put},
    {"aten.index_put_.default", index_put},
    {"aten.index_select.default", index_select},
};

}  // namespace

std::span<const KernelEntry> aten_index_kernels() { return entries; }

}  // namespace md
