// GATHER, GATHER_ND, SCATTER_ND, STABLEHLO_SCATTER, EMBEDDING_LOOKUP, ONE_HOT, REVERSE_SEQUENCE.
#include <array>
#include <cstring>

#include "lib/eval/primitives/scatter.h"
#include "lib/eval/primitives/strided.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

Status gather(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const Tensor& where = call.in(1);
  const auto index = index_operand(call, 1);
  const auto axis = normal_axis(call.attrs().integer("axis"), x.shape.size());
  const std::int64_t b = call.attrs().integer("batch_dims");
  const std::int64_t batch_dims = b < 0 ? b + where.rank() : b;
  if (!index || !axis || batch_dims < 0 || batch_dims > static_cast<std::int64_t>(*axis) ||
      batch_dims > where.rank())
    return call.bad("axis, batch_dims and indices do not fit");
  const auto batched = static_cast<std::size_t>(batch_dims);
  for (std::size_t d = 0; d < batched; ++d)
    if (x.shape[d] != where.shape[d]) return call.bad("batch dimensions differ");
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  shape.insert(shape.end(), where.shape.begin() + batch_dims, where.shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, x.shape.end());
  auto out = moved_output(call, 0, x, shape);
  if (!out) return tl::make_unexpected(out.error());
  const std::span<const std::int64_t> dims(x.shape);
  const std::int64_t batch = product(dims.first(batched)),
                     outer = product(dims.subspan(batched, *axis - batched));
  const std::int64_t length = x.shape[*axis], inner = product(dims.subspan(*axis + 1));
  const std::int64_t picks = product(std::span<const std::int64_t>(where.shape).subspan(batched));
  const std::size_t row = static_cast<std::size_t>(inner) * x.element_bytes();
  std::byte* to = out->mutable_raw();
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t p = 0; p < picks; ++p, to += row) {
        const std::int64_t i = (*index)[static_cast<std::size_t>(n * picks + p)];
        if (i < 0 || i >= length)
          return call.bad(fmt::format("index {} is outside dimension {} of {}", i, *axis, length));
        std::memcpy(to, x.raw() + static_cast<std::size_t>((n * outer + o) * length + i) * row, row);
      }
  call.outputs[0] = std::move(*out);
  return {};
}

/// Rows that an [..., k] index tensor names: row r is at offset[r] (in rows of `inner` elements).
struct Rows {
  std::vector<std::int64_t> offset;
  std::int64_t inner = 1;
};

Result<Rows> rows_of(KernelCall& call, const Tensor& where, const Shape& shape) {
  if (where.is_float() || where.rank() < 1) return call.bad("the indices are not integers");
  const auto k = static_cast<std::size_t>(where.shape.back());
  if (k > shape.size()) return call.bad(fmt::format("indices of {} numbers into rank {}", k, shape.size()));
  Rows rows;
  rows.inner = product(std::span<const std::int64_t>(shape).subspan(k));
  const std::int64_t count =
      product(std::span<const std::int64_t>(where.shape).first(where.shape.size() - 1));
  if (count > call.options.max_bytes / 8) return call.bad("too many indices");
  const auto index = where.integers();
  for (std::int64_t r = 0; r < count; ++r) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < k; ++d) {
      const std::int64_t i = index[static_cast<std::size_t>(r) * k + d];
      if (i < 0 || i >= shape[d])
        return call.bad(fmt::format("index {} is outside dimension {} of {}", i, d, shape[d]));
      at = at * shape[d] + i;
    }
    rows.offset.push_back(at);
  }
  return rows;
}

Status gather_nd(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const Tensor& where = call.in(1);
  const auto rows = rows_of(call, where, x.shape);
  if (!rows) return tl::make_unexpected(rows.error());
  Shape shape(where.shape.begin(), where.shape.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + where.shape.back(), x.shape.end());
  auto out = moved_output(call, 0, x, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  const std::size_t row = static_cast<std::size_t>(rows->inner) * x.element_bytes();
  std::byte* to = out->mutable_raw();
  for (const std::int64_t at : rows->offset) {
    std::memcpy(to, x.raw() + static_cast<std::size_t>(at) * row, row);
    to += row;
  }
  call.outputs[0] = std::move(*out);
  return {};
}

Status scatter_nd(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor& where = call.in(0);
  const Tensor& updates = call.in(1);
  const auto dims = index_operand(call, 2);
  if (!dims) return call.bad("the shape is not integers");
  if (!element_count(*dims)) return call.bad("an impossible shape");
  const auto rows = rows_of(call, where, *dims);
  if (!rows) return tl::make_unexpected(rows.error());
  if (static_cast<std::int64_t>(updates.size()) !=
      static_cast<std::int64_t>(rows->offset.size()) * rows->inner)
    return call.bad("the updates do not have one row an index");
  auto out = call.make_output(0, *dims);
  if (!out) return tl::make_unexpected(out.error());
  if (out->store() != updates.store() || out->lanes() != 1)
    return call.bad("the updates' type is not the result's");
  with_store(out->store(), [&](auto zero) {
    using T = decltype(zero);
    auto to = out->mutable_data<T>();
    std::fill(to.begin(), to.end(), T(0));
    const auto from = updates.data<T>();
    for (std::size_t r = 0; r < rows->offset.size(); ++r)
      for (std::int64_t i = 0; i < rows->inner; ++i) {
        T& sum = to[static_cast<std::size_t>(rows->offset[r] * rows->inner + i)];
        sum = plus(sum, from[r * static_cast<std::size_t>(rows->inner) + static_cast<std::size_t>(i)]);
      }
  });
  call.outputs[0] = std::move(*out);
  return {};
}

Status stablehlo_scatter(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  if (!scatter_overwrites(call.model, call.node))
    return call.carriers ? call.unsupported("that computes with the old elements") : scatter_computed(call);
  const Tensor& x = call.in(0);
  const Tensor& updates = call.in(2);
  const auto index = index_operand(call, 1);
  if (!index) return call.bad("the indices are not integers");
  if (x.element_bytes() != updates.element_bytes()) return call.bad("the updates' type is not the operand's");
  const auto targets = scatter_targets(call.attrs(), x.shape, call.in(1).shape, updates.shape, *index);
  if (!targets) return call.bad("its windows and indices do not fit the operand");
  auto out = moved_output(call, 0, x, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  const std::size_t bytes = x.element_bytes();
  std::memcpy(out->mutable_raw(), x.raw(), x.size() * bytes);
  for (std::size_t i = 0; i < targets->size(); ++i)
    if ((*targets)[i] >= 0)
      std::memcpy(out->mutable_raw() + static_cast<std::size_t>((*targets)[i]) * bytes,
                  updates.raw() + i * bytes, bytes);
  call.outputs[0] = std::move(*out);
  return {};
}

Status embedding_lookup(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const auto index = index_operand(call, 0);
  const Tensor& table = call.in(1);
  if (!index || table.rank() < 1) return call.bad("the ids are not integers, or the table has rank 0");
  Shape shape = call.in(0).shape;
  shape.insert(shape.end(), table.shape.begin() + 1, table.shape.end());
  auto out = call.make_output(0, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  const std::size_t inner = table.shape[0] ? table.size() / static_cast<std::size_t>(table.shape[0]) : 0;
  // A quantized table may come out as floats.
  const bool convert = out->is_float() && !table.is_float();
  if (!convert && out->element_bytes() != table.element_bytes())
    return call.bad("the table's type is not the result's");
  const std::vector<double> reals = convert ? table.real_values() : std::vector<double>{};
  std::size_t at = 0;
  for (const std::int64_t i : *index) {
    if (i < 0 || i >= table.shape[0])
      return call.bad(fmt::format("id {} is outside a table of {}", i, table.shape[0]));
    const std::size_t from = static_cast<std::size_t>(i) * inner;
    if (convert && out->store() == Store::f32)
      for (std::size_t k = 0; k < inner; ++k)
        out->mutable_data<float>()[at + k] = static_cast<float>(reals[from + k]);
    else if (convert)
      for (std::size_t k = 0; k < inner; ++k) out->mutable_data<double>()[at + k] = reals[from + k];
    else
      std::memcpy(out->mutable_raw() + at * out->element_bytes(), table.raw() + from * table.element_bytes(),
                  inner * table.element_bytes());
    at += inner;
  }
  call.outputs[0] = std::move(*out);
  return {};
}

Status one_hot(KernelCall& call) {
  if (auto ok = call.need(4); !ok) return ok;
  const auto index = index_operand(call, 0), depth = index_operand(call, 1);
  const Tensor& on = call.in(2);
  const Tensor& off = call.in(3);
  if (!index || !depth || depth->size() != 1 || (*depth)[0] < 0 || on.size() != 1 || off.size() != 1)
    return call.bad("needs indices, one depth, one value on and one off");
  Shape shape = call.in(0).shape;
  const std::int64_t a = call.attrs().integer("axis", -1);
  const std::size_t axis = a == -1 ? shape.size() : static_cast<std::size_t>(a);
  if (a < -1 || axis > shape.size()) return call.bad("the axis is out of range");
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), (*depth)[0]);
  auto out = call.make_output(0, shape);
  if (!out) return tl::make_unexpected(out.error());
  if (on.store() != out->store() || off.store() != out->store())
    return call.bad("the values' type is not the result's");
  fill(*out, off.raw());
  const std::int64_t inner = product(std::span<const std::int64_t>(shape).subspan(axis + 1));
  for (std::size_t i = 0; i < index->size(); ++i) {
    const std::int64_t v = (*index)[i];
    if (v < 0 || v >= (*depth)[0]) continue;
    const auto n = static_cast<std::int64_t>(i);
    const std::int64_t at = ((n / inner) * (*depth)[0] + v) * inner + n % inner;
    std::memcpy(out->mutable_raw() + static_cast<std::size_t>(at) * out->element_bytes(), on.raw(),
                out->element_bytes());
  }
  call.outputs[0] = std::move(*out);
  return {};
}

Status reverse_sequence(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto lengths = index_operand(call, 1);
  const auto seq = normal_axis(call.attrs().integer("seq_dim"), x.shape.size()),
             batch = normal_axis(call.attrs().integer("batch_dim"), x.shape.size());
  if (!lengths || !seq || !batch || *seq == *batch ||
      static_cast<std::int64_t>(lengths->size()) != x.shape[*batch])
    return call.bad("lengths and axes do not fit");
  auto out = moved_output(call, 0, x, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  const auto strides = strides_of(x.shape);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i);
    const std::int64_t s = n / strides[*seq] % x.shape[*seq], b = n / strides[*batch] % x.shape[*batch];
    const std::int64_t length = (*lengths)[static_cast<std::size_t>(b)];
    if (length < 0 || length > x.shape[*seq]) return call.bad("a length is out of range");
    const std::int64_t to = s < length ? n + (length - 1 - 2 * s) * strides[*seq] : n;
    std::memcpy(out->mutable_raw() + static_cast<std::size_t>(to) * x.element_bytes(),
                x.raw() + i * x.element_bytes(), x.element_bytes());
  }
  call.outputs[0] = std::move(*out);
  return {};
}

}  // namespace

std::span<const KernelEntry> gathering_kernels() {
  static const std::array rows = {
      KernelEntry{"GATHER", gather, 1},
      KernelEntry{"GATHER_ND", gather_nd, 1},
      KernelEntry{"SCATTER_ND", scatter_nd},
      KernelEntry{"EMBEDDING_LOOKUP", embedding_lookup},
      KernelEntry{"ONE_HOT", one_hot},
      KernelEntry{"REVERSE_SEQUENCE", reverse_sequence, 1},
      KernelEntry{"STABLEHLO_SCATTER", stablehlo_scatter, 0b101},
  };
  return rows;
}

}  // namespace md
