// Kernels of aten operators that give a view of their operand, or its elements in another order.
#include <algorithm>
#include <limits>
#include <numeric>

#include "lib/eval/primitives/strided.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Status same(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (!call.carriers && x.dtype != call.out_value().dtype) return call.unsupported("that changes the type");
  call.outputs[0] = x;
  return {};
}

/// flatten(x, start_dim, end_dim)
std::optional<Shape> flattened(const AtenCall& c, const Tensor& x) {
  const int rank = x.rank(), a = rank ? c.dim("start_dim", rank, 0) : 0,
            b = rank ? c.dim("end_dim", rank, -1) : 0;
  if (a < 0 || b < a) return std::nullopt;
  Shape s(x.shape.begin(), x.shape.begin() + a);
  std::int64_t merged = 1;
  for (int d = a; d <= b && d < rank; ++d) merged *= x.shape[at(d)];
  s.push_back(merged);
  for (int d = b + 1; d < rank; ++d) s.push_back(x.shape[at(d)]);
  return s;
}

std::optional<Shape> squeezed(const AtenCall& c, const Tensor& x) {
  const auto gone = c.marked_dims("dim", x.rank());
  if (!gone) return std::nullopt;
  Shape s;
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] != 1 || !(*gone)[d]) s.push_back(x.shape[d]);
  return s;
}

/// The sizes asked for: one of them may be -1.
std::optional<Shape> sizes_asked(const AtenCall& c, const std::string& base) {
  const Shape& typed = c.call.out_value().shape;
  if (base == "aten.unflatten") return typed;
  if (base == "aten.view_as" || base == "aten.reshape_as") {
    const Tensor* other = c.operand("other");
    return other ? std::optional(other->shape) : std::nullopt;
  }
  const auto sizes = c.sizes(base == "aten.reshape" ? "shape" : "size");
  return sizes ? sizes : typed;
}

Status reshape(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const std::string base = aten_base(call.node.op);
  std::optional<Shape> target;
  if (base == "aten.flatten") {
    target = flattened(c, x);
  } else if (base == "aten.squeeze" || base == "aten.squeeze_copy") {
    target = squeezed(c, x);
  } else if (base == "aten.unsqueeze" || base == "aten.unsqueeze_copy") {
    target = x.shape;
    const int place = c.dim("dim", x.rank() + 1);
    if (place < 0)
      target.reset();
    else
      target->insert(target->begin() + place, 1);
  } else {
    target = sizes_asked(c, base);
  }
  if (!target) return c.bad("sizes or axes outside the tensor");
  std::int64_t known = 1, free = -1;
  for (std::size_t d = 0; d < target->size(); ++d) {
    if ((*target)[d] < 0)
      free = static_cast<std::int64_t>(d);
    else if (__builtin_mul_overflow(known, (*target)[d], &known))
      return c.bad("sizes past what a tensor can hold");
  }
  if (free >= 0) (*target)[at(free)] = known ? static_cast<std::int64_t>(x.size()) / known : 0;
  if (element_count(*target) != static_cast<std::int64_t>(x.size()))
    return c.bad(fmt::format("{} elements do not fit {}", x.size(), shape_text(*target)));
  if (!call.carriers && x.dtype != call.out_value().dtype) return call.unsupported("that changes the type");
  call.outputs[0] = x.reshaped(*target);
  return {};
}

/// start, end and step of a slice; of narrow, start and length.
struct Bounds {
  std::size_t dim = 0;
  std::int64_t start = 0, length = 0, step = 1;
};

Result<Bounds> bounds_of(const AtenCall& c, const Shape& shape) {
  const int dim = c.dim("dim", static_cast<int>(shape.size()));
  if (dim < 0 || shape.empty()) return c.call.bad("an axis outside the tensor");
  Bounds b{at(dim), 0, 0, 1};
  const std::int64_t size = shape[b.dim];
  const auto clamped = [&](std::int64_t v) {
    return std::clamp<std::int64_t>(v < 0 ? v + size : v, 0, size);
  };
  const auto integer = [&](std::string_view name, std::int64_t otherwise) {
    const Tensor* computed = c.operand(name);
    return computed && computed->size() == 1 ? computed->integer(0) : c.attrs().integer(name, otherwise);
  };
  const std::int64_t start = integer("start", 0);
  b.start = clamped(start);
  if (aten_base(c.call.node.op) == "aten.narrow") {
    b.length = integer("length", 0);
    if (b.length < 0 || b.start + b.length > size || (start < 0 ? start + size : start) != b.start)
      return c.call.bad("a part outside the tensor");
    return b;
  }
  b.step = integer("step", 1);
  if (b.step < 1) return c.call.bad("a step that is not positive");
  const std::int64_t end =
      std::max(b.start, clamped(integer("end", std::numeric_limits<std::int64_t>::max())));
  b.length = (end - b.start) / b.step + ((end - b.start) % b.step != 0);
  return b;
}

View part_of(const Shape& shape, const Bounds& b) {
  View view = whole(shape);
  view.base = b.start * view.steps[b.dim];
  view.steps[b.dim] *= b.step;
  view.dims[b.dim] = b.length;
  return view;
}

Status slice(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const auto b = bounds_of(c, call.in(0).shape);
  if (!b) return tl::make_unexpected(b.error());
  return c.give_view(call.in(0), part_of(call.in(0).shape, *b));
}

/// The bounds of select and select_scatter: one index.
Result<Bounds> chosen(const AtenCall& c, const Shape& shape) {
  const int dim = shape.empty() ? -1 : c.dim("dim", static_cast<int>(shape.size()));
  if (dim < 0) return c.call.bad("an axis outside the tensor");
  const std::int64_t size = shape[at(dim)];
  const Tensor* computed = c.operand("index");
  std::int64_t index = computed && computed->size() == 1 ? computed->integer(0) : c.attrs().integer("index");
  if (index < 0) index += size;
  if (index < 0 || index >= size) return c.call.bad("an index outside the tensor");
  return Bounds{at(dim), index, 1, 1};
}

Status select(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const auto b = chosen(c, call.in(0).shape);
  if (!b) return tl::make_unexpected(b.error());
  View view = part_of(call.in(0).shape, *b);
  view.dims.erase(view.dims.begin() + static_cast<std::ptrdiff_t>(b->dim));
  view.steps.erase(view.steps.begin() + static_cast<std::ptrdiff_t>(b->dim));
  return c.give_view(call.in(0), view);
}

/// Axis d of the result is axis order[d] of the operand.
std::optional<std::vector<std::size_t>> order_of(const AtenCall& c, const Tensor& x) {
  const std::string base = aten_base(c.call.node.op);
  std::vector<std::size_t> order(x.shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto swapped = [&](int a, int b) -> std::optional<std::vector<std::size_t>> {
    if (a < 0 || b < 0) return std::nullopt;
    if (!order.empty()) std::swap(order[at(a)], order[at(b)]);
    return order;
  };
  if (base == "aten.t")
    return x.rank() == 2 ? swapped(0, 1) : x.rank() < 2 ? std::optional(order) : std::nullopt;
  if (base == "aten.numpy_T") return std::vector<std::size_t>(order.rbegin(), order.rend());
  if (base == "aten.mT") return x.rank() < 2 ? std::nullopt : swapped(x.rank() - 2, x.rank() - 1);
  if (base == "aten.transpose" || base == "aten.transpose_copy")
    return swapped(c.dim("dim0", x.rank()), c.dim("dim1", x.rank()));
  if (base == "aten.swapaxes") return swapped(c.dim("axis0", x.rank()), c.dim("axis1", x.rank()));
  if (base == "aten.movedim") {
    const auto from = c.sizes("source"), to = c.sizes("destination");
    if (!from || !to || from->size() != to->size()) return std::nullopt;
    std::vector<std::size_t> left;
    std::vector<std::ptrdiff_t> placed(order.size(), -1);
    std::vector<bool> moved(order.size(), false);
    for (std::size_t i = 0; i < from->size(); ++i) {
      const auto s = normal_axis((*from)[i], order.size()), d = normal_axis((*to)[i], order.size());
      if (!s || !d) return std::nullopt;
      placed[*d] = static_cast<std::ptrdiff_t>(*s), moved[*s] = true;
    }
    for (std::size_t d = 0; d < order.size(); ++d)
      if (!moved[d]) left.push_back(d);
    std::size_t next = 0;
    for (std::size_t d = 0; d < order.size(); ++d)
      order[d] = placed[d] >= 0 ? static_cast<std::size_t>(placed[d]) : left.at(next++);
    return order;
  }
  const auto dims = c.sizes("dims");
  if (!dims || dims->size() != order.size()) return std::nullopt;
  std::vector<bool> seen(order.size(), false);
  for (std::size_t d = 0; d < order.size(); ++d) {
    const auto axis = normal_axis((*dims)[d], order.size());
    if (!axis || seen[*axis]) return std::nullopt;
    order[d] = *axis, seen[*axis] = true;
  }
  return order;
}

Status permute(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const auto order = order_of(c, call.in(0));
  if (!order) return c.bad("axes that are no permutation");
  View view;
  const auto strides = strides_of(call.in(0).shape);
  for (const std::size_t d : *order)
    view.dims.push_back(call.in(0).shape[d]), view.steps.push_back(strides[d]);
  return c.give_view(call.in(0), view);
}

Status expand(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const Tensor* other = aten_base(call.node.op) == "aten.expand_as" ? c.operand("other") : nullptr;
  auto target = other ? std::optional(other->shape) : c.sizes("size");
  if (!target || target->size() < x.shape.size()) return c.bad("sizes that do not fit");
  const std::size_t offset = target->size() - x.shape.size();
  View view = whole(x.shape);
  view.steps.insert(view.steps.begin(), offset, 0);
  for (std::size_t d = 0; d < target->size(); ++d) {
    if ((*target)[d] < 0) (*target)[d] = d < offset ? 1 : x.shape[d - offset];
    if (d < offset) continue;
    if (x.shape[d - offset] == 1)
      view.steps[d] = 0;
    else if ((*target)[d] != x.shape[d - offset])
      return c.bad("sizes that do not fit");
  }
  view.dims = *target;
  return c.give_view(x, view);
}

Status flip(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (c.sizes("dims").value_or(Shape{}).empty()) return same(call);
  const auto marked = c.marked_dims("dims", x.rank());
  if (!marked) return c.bad("an axis outside the tensor");
  View view = whole(x.shape);
  for (std::size_t d = 0; d < marked->size(); ++d) {
    if (!(*marked)[d] || x.shape[d] == 0) continue;
    view.base += (x.shape[d] - 1) * view.steps[d];
    view.steps[d] = -view.steps[d];
  }
  return c.give_view(x, view);
}

/// repeat and tile: each axis walked `n` times. As a view with two dimensions an axis, the first standing
/// still.
Status repeat(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  auto repeats = c.sizes(aten_base(call.node.op) == "aten.tile" ? "dims" : "repeats");
  if (!repeats) return c.bad("repeats that do not fit");
  if (aten_base(call.node.op) == "aten.tile" && repeats->size() < x.shape.size())
    repeats->insert(repeats->begin(), x.shape.size() - repeats->size(), 1);
  if (repeats->size() < x.shape.size()) return c.bad("repeats that do not fit");
  const std::size_t offset = repeats->size() - x.shape.size();
  const auto strides = strides_of(x.shape);
  View view;
  Shape shape;
  for (std::size_t d = 0; d < repeats->size(); ++d) {
    const std::int64_t size = d < offset ? 1 : x.shape[d - offset], n = (*repeats)[d];
    if (n < 0 || n > (std::int64_t{1} << 40)) return c.bad("repeats that do not fit");
    view.dims.push_back(n), view.steps.push_back(0);
    view.dims.push_back(size), view.steps.push_back(d < offset ? 0 : strides[d - offset]);
    if (__builtin_mul_overflow(n, size, &shape.emplace_back())) return c.bad("repeats that do not fit");
  }
  if (auto ok = c.give_view(x, view); !ok) return ok;
  call.outputs[0].shape = std::move(shape);
  return {};
}

/// diagonal: the elements whose indices along two axes differ by `offset`, as a last axis.
Status diagonal(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const int a = x.rank() < 2 ? -1 : c.dim("dim1", x.rank(), 0),
            b = x.rank() < 2 ? -1 : c.dim("dim2", x.rank(), 1);
  if (a < 0 || b < 0 || a == b) return c.bad("axes outside the tensor");
  const std::int64_t offset = call.attrs().integer("offset"), rows = x.shape[at(a)], columns = x.shape[at(b)];
  if (std::abs(offset) > (std::int64_t{1} << 40)) return c.bad("a diagonal outside the tensor");
  View view;
  const auto strides = strides_of(x.shape);
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (d != at(a) && d != at(b)) view.dims.push_back(x.shape[d]), view.steps.push_back(strides[d]);
  const std::int64_t length =
      offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns);
  view.dims.push_back(std::max<std::int64_t>(length, 0)),
      view.steps.push_back(strides[at(a)] + strides[at(b)]);
  if (length > 0) view.base = offset >= 0 ? offset * strides[at(b)] : -offset * strides[at(a)];
  return c.give_view(x, view);
}

/// unfold: windows of one axis, as a last axis.
Status unfold(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const int dim = x.rank() ? c.dim("dimension", x.rank()) : -1;
  const std::int64_t size = call.attrs().integer("size"), step = call.attrs().integer("step");
  if (dim < 0 || step < 1 || size < 0 || size > x.shape[at(dim)]) return c.bad("windows that do not fit");
  View view = whole(x.shape);
  const std::int64_t stride = view.steps[at(dim)];
  view.dims[at(dim)] = (x.shape[at(dim)] - size) / step + 1;
  view.steps[at(dim)] = stride * step;
  view.dims.push_back(size), view.steps.push_back(stride);
  return c.give_view(x, view);
}

/// slice_scatter and select_scatter.
Status scatter_slice(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *src = c.operand("src");
  if (!x || !src || x->element_bytes() != src->element_bytes()) return c.bad("operands that do not fit");
  const auto b =
      aten_base(call.node.op) == "aten.select_scatter" ? chosen(c, x->shape) : bounds_of(c, x->shape);
  if (!b) return tl::make_unexpected(b.error());
  const View view = part_of(x->shape, *b);
  if (element_count(view.dims) != static_cast<std::int64_t>(src->size()))
    return c.bad("a source of another size than the slice");
  auto out = moved_output(call, 0, *x, x->shape);
  if (!out) return tl::make_unexpected(out.error());
  std::copy_n(x->raw(), x->bytes(), out->mutable_raw());
  write_view(*src, *out, view);
  call.outputs[0] = std::move(*out);
  return {};
}

constexpr KernelEntry entries[] = {
    {"aten.clone.default", same, all_operands},
    {"aten.contiguous.default", same, all_operands},
    {"aten.detach.default", same, all_operands},
    {"aten.detach_.default", same, all_operands},
    {"aten.alias.default", same, all_operands},
    {"aten.detach_copy.default", same, all_operands},
    {"aten.alias_copy.default", same, all_operands},
    {"aten.lift_fresh_copy.default", same, all_operands},
    {"aten.dropout.default", same, all_operands},
    {"aten.view.default", reshape, all_operands},
    {"aten.view_copy.default", reshape, all_operands},
    {"aten._unsafe_view.default", reshape, all_operands},
    {"aten.reshape.default", reshape, all_operands},
    {"aten.view_as.default", reshape, 1},
    {"aten.flatten.using_ints", reshape, all_operands},
    {"aten.unflatten.int", reshape, all_operands},
    {"aten.unsqueeze.default", reshape, all_operands},
    {"aten.unsqueeze_copy.default", reshape, all_operands},
    {"aten.squeeze.dim", reshape, all_operands},
    {"aten.squeeze.dims", reshape, all_operands},
    {"aten.squeeze.default", reshape, all_operands},
    {"aten.squeeze_copy.dims", reshape, all_operands},
    {"aten.slice.Tensor", slice, 1},
    {"aten.slice_copy.Tensor", slice, 1},
    {"aten.narrow.default", slice, 1},
    {"aten.select.int", select, 1},
    {"aten.select_copy.int", select, 1},
    {"aten.permute.default", permute, all_operands},
    {"aten.permute_copy.default", permute, all_operands},
    {"aten.transpose.int", permute, all_operands},
    {"aten.transpose_copy.int", permute, all_operands},
    {"aten.swapaxes.default", permute, all_operands},
    {"aten.movedim.int", permute, all_operands},
    {"aten.movedim.intlist", permute, all_operands},
    {"aten.t.default", permute, all_operands},
    {"aten.mT.default", permute, all_operands},
    {"aten.numpy_T.default", permute, all_operands},
    {"aten.expand.default", expand, 1},
    {"aten.expand_copy.default", expand, 1},
    {"aten.expand_as.default", expand, 1},
    {"aten.flip.default", flip, all_operands},
    {"aten.repeat.default", repeat, 1},
    {"aten.tile.default", repeat, 1},
    {"aten.diagonal.default", diagonal, all_operands},
    {"aten.diagonal_copy.default", diagonal, all_operands},
    {"aten.unfold.default", unfold, all_operands},
    {"aten.slice_scatter.default", scatter_slice, all_operands},
    {"aten.select_scatter.default", scatter_slice, all_operands},
};

}  // namespace

std::span<const KernelEntry> aten_movement_kernels() { return entries; }

}  // namespace md
