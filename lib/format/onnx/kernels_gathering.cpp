// Kernels of operators that pick or write elements where indices say.
#include <algorithm>
#include <cstring>

#include "lib/eval/primitives/functions.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;
using onnx::Numbers;

/// Non-negative, or nullopt: outside.
std::optional<std::int64_t> place(std::int64_t i, std::int64_t n) {
  if (i < 0) i += n;
  return i < 0 || i >= n ? std::nullopt : std::optional(i);
}

Status gather(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &indices = call.in(1);
  const auto axis = normal_axis(call.attrs().integer("axis"), x.shape.size());
  const auto rows = onnx::operand_numbers(call, 1);
  if (!axis || !rows) return call.bad("an axis outside the tensor, or no indices");
  const std::span<const std::int64_t> dims(x.shape);
  const std::int64_t outer = product(dims.first(*axis)), inner = product(dims.subspan(*axis + 1)),
                     n = x.shape[*axis];
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, x.shape.end());
  auto out = moved_output(call, 0, x, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  const std::size_t width = x.element_bytes() * at(inner);
  std::byte* to = out->mutable_raw();
  for (std::int64_t o = 0; o < outer; ++o)
    for (const std::int64_t row : *rows) {
      const auto i = place(row, n);
      if (!i) return call.bad(fmt::format("index {} of {} rows", row, n));
      if (width) std::memcpy(to, x.raw() + at(o * n + *i) * width, width);
      to += width;
    }
  call.outputs[0] = std::move(*out);
  return {};
}

Status gather_elements(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &indices = call.in(1);
  const auto axis = normal_axis(call.attrs().integer("axis"), x.shape.size());
  const auto rows = onnx::operand_numbers(call, 1);
  if (!axis || !rows || indices.shape.size() != x.shape.size()) return call.bad("indices that do not fit");
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (d != *axis && indices.shape[d] > x.shape[d]) return call.bad("indices that do not fit");
  const auto strides = strides_of(x.shape);
  Numbers from;
  bool fits = true;
  for_each_index(indices.shape, [&](const Numbers& index) {
    const auto i = place((*rows)[from.size()], x.shape[*axis]);
    fits = fits && i;
    std::int64_t p = 0;
    for (std::size_t d = 0; d < index.size(); ++d) p += strides[d] * (d == *axis ? i.value_or(0) : index[d]);
    from.push_back(p);
  });
  if (!fits) return call.bad("an index outside the tensor");
  return onnx::give_moved(call, 0, x, indices.shape, from);
}

Status gather_nd(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &indices = call.in(1);
  const auto rows = onnx::operand_numbers(call, 1);
  const std::int64_t batch = call.attrs().integer("batch_dims");
  if (!rows || indices.shape.empty() || batch < 0 || batch >= indices.rank() || batch > x.rank() ||
      indices.shape.back() + batch > x.rank() ||
      !std::equal(x.shape.begin(), x.shape.begin() + batch, indices.shape.begin()))
    return call.bad("indices that do not fit");
  const auto depth = at(indices.shape.back()), b = at(batch);
  const std::span<const std::int64_t> dims(x.shape), wanted(indices.shape);
  const std::int64_t inner = product(dims.subspan(b + depth)), block = product(dims.subspan(b)),
                     lists = product(wanted.first(wanted.size() - 1)), batches = product(dims.first(b));
  const auto strides = strides_of(x.shape);
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(b + depth), x.shape.end());
  auto out = moved_output(call, 0, x, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  const std::size_t width = x.element_bytes();
  const std::int64_t lists_each = batches ? lists / batches : 0;
  std::byte* to = out->mutable_raw();
  for (std::int64_t l = 0; l < lists; ++l) {
    std::int64_t p = lists_each ? l / lists_each * block : 0;
    for (std::size_t d = 0; d < depth; ++d) {
      const auto i = place((*rows)[at(l) * depth + d], x.shape[b + d]);
      if (!i) return call.bad("an index outside the tensor");
      p += *i * strides[b + d];
    }
    if (inner) std::memcpy(to, x.raw() + at(p) * width, at(inner) * width);
    to += at(inner) * width;
  }
  call.outputs[0] = std::move(*out);
  return {};
}

/// Copies the operand, then writes updates[k] to element target[k]: moved, or computed with the old one.
Status scattered(KernelCall& call, const Tensor& updates, const Numbers& target, std::size_t run) {
  const Tensor& x = call.in(0);
  const std::string_view how = call.attrs().text("reduction", "none");
  if (updates.element_bytes() != x.element_bytes() || updates.store() != x.store())
    return call.bad("updates of another type");
  if (how == "none") {
    auto out = moved_output(call, 0, x, x.shape);
    if (!out) return tl::make_unexpected(out.error());
    const std::size_t width = x.element_bytes();
    std::byte* to = out->mutable_raw();
    if (x.size()) std::memcpy(to, x.raw(), x.size() * width);
    for (std::size_t k = 0; k < target.size() && run; ++k)
      std::memcpy(to + at(target[k]) * width, updates.raw() + k * run * width, run * width);
    call.outputs[0] = std::move(*out);
    return {};
  }
  if (call.carriers || x.lanes() != 1) return call.unsupported("with a reduction");
  return with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> from(x), with(updates);
    return give_numbers<T>(call, 0, x.shape, [&](std::span<T> to) {
      std::copy(from.span().begin(), from.span().end(), to.begin());
      for (std::size_t k = 0; k < target.size(); ++k)
        for (std::size_t j = 0; j < run; ++j) {
          T& old = to[at(target[k]) + j];
          const T v = with[k * run + j];
          if (how == "add")
            old = plus(old, v);
          else if (how == "mul")
            old = times(old, v);
          else if (how == "max")
            old = is_nan(old) || old > v ? old : v;
          else
            old = is_nan(old) || old < v ? old : v;
        }
    });
  });
}

Status scatter_elements(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor &x = call.in(0), &indices = call.in(1);
  const auto axis = normal_axis(call.attrs().integer("axis"), x.shape.size());
  const auto rows = onnx::operand_numbers(call, 1);
  if (!axis || !rows || indices.shape.size() != x.shape.size() || call.in(2).shape != indices.shape)
    return call.bad("indices or updates that do not fit");
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (d != *axis && indices.shape[d] > x.shape[d]) return call.bad("indices that do not fit");
  const auto strides = strides_of(x.shape);
  Numbers target;
  bool fits = true;
  for_each_index(indices.shape, [&](const Numbers& index) {
    const auto i = place((*rows)[target.size()], x.shape[*axis]);
    fits = fits && i;
    std::int64_t p = 0;
    for (std::size_t d = 0; d < index.size(); ++d) p += strides[d] * (d == *axis ? i.value_or(0) : index[d]);
    target.push_back(p);
  });
  if (!fits) return call.bad("an index outside the tensor");
  return scattered(call, call.in(2), target, 1);
}

Status scatter_nd(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor &x = call.in(0), &indices = call.in(1), &updates = call.in(2);
  const auto rows = onnx::operand_numbers(call, 1);
  if (!rows || indices.shape.empty() || indices.shape.back() > x.rank())
    return call.bad("indices that do not fit");
  const auto depth = at(indices.shape.back());
  const std::span<const std::int64_t> dims(x.shape);
  const std::int64_t inner = product(dims.subspan(depth));
  const std::int64_t lists =
      product(std::span<const std::int64_t>(indices.shape).first(indices.shape.size() - 1));
  if (static_cast<std::int64_t>(updates.size()) != lists * inner) return call.bad("updates that do not fit");
  const auto strides = strides_of(x.shape);
  Numbers target;
  for (std::int64_t l = 0; l < lists; ++l) {
    std::int64_t p = 0;
    for (std::size_t d = 0; d < depth; ++d) {
      const auto i = place((*rows)[at(l) * depth + d], x.shape[d]);
      if (!i) return call.bad("an index outside the tensor");
      p += *i * strides[d];
    }
    target.push_back(p);
  }
  return scattered(call, updates, target, at(inner));
}

/// A cache [batch, ..., sequence, ...] that rows are written to, one place a batch.
Status tensor_scatter(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor &x = call.in(0), &update = call.in(1);
  const auto axis = normal_axis(call.attrs().integer("axis", -2), x.shape.size());
  if (!axis || *axis == 0 || update.shape.size() != x.shape.size())
    return call.bad("an update that does not fit");
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (d == *axis ? update.shape[d] > x.shape[d] : update.shape[d] != x.shape[d])
      return call.bad("an update that does not fit");
  const bool circular = call.attrs().text("mode", "linear") == "circular";
  const auto starts = onnx::operand_numbers(call, 2);
  if (starts && static_cast<std::int64_t>(starts->size()) != x.shape[0])
    return call.bad("write_indices that do not fit");
  const auto strides = strides_of(x.shape);
  const std::int64_t n = x.shape[*axis];
  Numbers target;
  bool fits = true;
  for_each_index(update.shape, [&](const Numbers& index) {
    std::int64_t p = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      std::int64_t i = index[d];
      if (d == *axis) {
        i += starts ? (*starts)[at(index[0])] : 0;
        if (circular && n > 0) i = ((i % n) + n) % n;
        fits = fits && i >= 0 && i < n;
      }
      p += i * strides[d];
    }
    target.push_back(p);
  });
  if (!fits) return call.bad("an index outside the cache");
  return scattered(call, update, target, 1);
}

Status compress(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const AttrValue* given = call.attrs().find("axis");
  const bool flat = !given || !std::holds_alternative<std::int64_t>(*given);
  const Tensor x = flat ? call.in(0).reshaped({static_cast<std::int64_t>(call.in(0).size())}) : call.in(0);
  const auto axis =
      flat ? std::optional<std::size_t>(0) : normal_axis(call.attrs().integer("axis"), x.shape.size());
  if (!axis) return call.bad("an axis outside the tensor");
  Numbers kept;
  for (std::size_t i = 0; i < call.in(1).size() && static_cast<std::int64_t>(i) < x.shape[*axis]; ++i)
    if (call.in(1).integer(i)) kept.push_back(static_cast<std::int64_t>(i));
  Shape shape = x.shape;
  shape[*axis] = static_cast<std::int64_t>(kept.size());
  const auto strides = strides_of(x.shape);
  Numbers from;
  for_each_index(shape, [&](const Numbers& index) {
    std::int64_t p = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      p += strides[d] * (d == *axis ? kept[at(index[d])] : index[d]);
    from.push_back(p);
  });
  return onnx::give_moved(call, 0, x, shape, from);
}

Status nonzero(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  Numbers found;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x.number(i) != 0) found.push_back(static_cast<std::int64_t>(i));
  // A scalar that is not zero counts as one element of rank 1 in numpy, and as rank 0 in the schema.
  const auto strides = strides_of(x.shape);
  Numbers out;
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    for (const std::int64_t i : found) out.push_back(i / strides[d] % x.shape[d]);
  return onnx::give_integers(call, 0, {x.rank(), static_cast<std::int64_t>(found.size())}, out);
}

Status one_hot(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor &indices = call.in(0), &values = call.in(2);
  const auto depth = onnx::number_of(call, 1);
  const auto axis = normal_axis(call.attrs().integer("axis", -1), indices.shape.size() + 1);
  if (!depth || *depth < 0 || *depth > 1e9 || !axis || values.size() != 2)
    return call.bad("operands that do not fit");
  const auto n = static_cast<std::int64_t>(*depth);
  Shape shape = indices.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), n);
  const std::span<const std::int64_t> dims(indices.shape);
  const std::int64_t outer = product(dims.first(*axis)), inner = product(dims.subspan(*axis));
  auto probe = call.make_output(0, shape);
  if (!probe) return tl::make_unexpected(probe.error());
  Numbers from(probe->size(), 0);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      const double raw = indices.number(at(o * inner + i));
      if (!(std::abs(raw) < 9e15)) continue;
      const auto row = place(static_cast<std::int64_t>(raw), n);
      if (row) from[at((o * n + *row) * inner + i)] = 1;
    }
  return onnx::give_moved(call, 0, values.reshaped({2}), shape, from);
}

constexpr KernelEntry entries[] = {
    {"Compress", compress, 1},
    {"Gather", gather, 1},
    {"GatherElements", gather_elements, 1},
    {"GatherND", gather_nd, 1},
    {"NonZero", nonzero},
    {"OneHot", one_hot, 4},
    {"Scatter", scatter_elements, 5},
    {"ScatterElements", scatter_elements, 5},
    {"ScatterND", scatter_nd, 5},
    {"TensorScatter", tensor_scatter, 3},
    {"com.microsoft.GatherND", gather_nd, 1, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_gathering_kernels() { return entries; }

}  // namespace md
