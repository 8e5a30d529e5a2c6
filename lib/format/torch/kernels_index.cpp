// Kernels of aten operators that read through indices.
#include "lib/eval/primitives/axis_rows.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/indices.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Status index(KernelCall& call) {
  AtenCall c(call);
  const Tensor* x = c.operand("self");
  Shape shape;
  const auto indices = x ? indices_of(*x, c.operands("indices")) : std::nullopt;
  const auto from = indices ? places_of(*x, *indices, shape) : std::nullopt;
  if (!from) return call.unsupported("with these indices");
  const Shape& expected = call.out_value().shape;
  if (indices->masked && !expected.empty() && expected[0] >= 0 && !shape.empty() && expected[0] != shape[0])
    return c.bad("a mask with another number of marks than the program asserts");
  return c.move(*x, shape, *from);
}

/// Whole slices of one axis, in the order of the indices.
Status index_select(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *which = c.operand("index");
  const int dim = x && x->rank() ? c.dim("dim", x->rank()) : -1;
  if (!which || dim < 0 || which->is_float()) return c.bad("operands that do not fit");
  const auto rows = which->integers();
  const AxisRows r = rows_along(x->shape, at(dim));
  Shape out = x->shape;
  out[at(dim)] = static_cast<std::int64_t>(rows.size());
  // Marks past the last row of values: the original would have refused such a mask.
  for (const std::int64_t row : rows)
    if (row < 0 || row >= x->shape[at(dim)]) return c.bad("an index outside the tensor");
  auto result = moved_output(call, 0, *x, out);
  if (!result) return tl::make_unexpected(result.error());
  const std::size_t bytes = r.inner * x->element_bytes();
  std::byte* to = result->mutable_raw();
  for (std::size_t o = 0; o < r.outer; ++o)
    for (const std::int64_t row : rows) {
      std::copy_n(x->raw() + (o * r.length + at(row)) * bytes, bytes, to);
      to += bytes;
    }
  call.outputs[0] = std::move(*result);
  return {};
}

Status embedding(KernelCall& call) {
  AtenCall c(call);
  const Tensor *table = c.operand("weight"), *which = c.operand("indices");
  if (!table || !which || table->rank() != 2 || which->is_float())
    return call.unsupported("with these operands");
  Shape shape = which->shape;
  shape.push_back(table->shape[1]);
  auto result = moved_output(call, 0, *table, shape);
  if (!result) return tl::make_unexpected(result.error());
  const std::size_t bytes = at(table->shape[1]) * table->element_bytes();
  std::byte* to = result->mutable_raw();
  for (const std::int64_t row : which->integers()) {
    if (row < 0 || row >= table->shape[0]) return c.bad("an index outside the table");
    std::copy_n(table->raw() + at(row) * bytes, bytes, to);
    to += bytes;
  }
  call.outputs[0] = std::move(*result);
  return {};
}

/// out[i][j] = x[i][index[i][j]], along one axis.
Status gather(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *which = c.operand("index");
  if (!x || !which || which->is_float() || x->rank() != which->rank())
    return c.bad("operands that do not fit");
  const auto places = x->rank()
                          ? element_places(call, *x, *which, c.dim("dim", x->rank()))
                          : Result<std::vector<std::int64_t>>(std::vector<std::int64_t>(which->size(), 0));
  if (!places) return tl::make_unexpected(places.error());
  return c.move(*x, which->shape, *places);
}

/// The elements that a mask marks, in a row.
Status masked_select(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *mask = c.operand("mask");
  if (!x || !mask || mask->dtype != DType::boolean) return c.bad("operands that do not fit");
  const auto shape = broadcast_shapes({x->shape, mask->shape});
  if (!shape) return c.bad("a mask that does not fit");
  const auto from = broadcast_positions(x->shape, *shape), marks = broadcast_positions(mask->shape, *shape);
  const auto m = mask->integers();
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (m[at(marks[i])]) places.push_back(from[i]);
  return c.move(*x, {static_cast<std::int64_t>(places.size())}, places);
}

/// Coordinates of what is not 0, one a row.
Status nonzero(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.lanes() != 1) return call.unsupported("on complex values");
  std::vector<std::int64_t> out;
  std::int64_t rows = 0;
  std::size_t k = 0;
  for_each_index(x.shape, [&](const std::vector<std::int64_t>& index) {
    if (x.number(k++) == 0) return;
    out.insert(out.end(), index.begin(), index.end()), ++rows;
  });
  return AtenCall(call).give_integers({rows, x.rank()}, out);
}

constexpr KernelEntry entries[] = {
    {"aten.index.Tensor", index, 1},
    {"aten.index_select.default", index_select, 1},
    {"aten.embedding.default", embedding, 1},
    {"aten.gather.default", gather, 1},
    {"aten.masked_select.default", masked_select, 1},
    {"aten.nonzero.default", nonzero},
};

}  // namespace

std::span<const KernelEntry> aten_index_kernels() { return entries; }

}  // namespace md
