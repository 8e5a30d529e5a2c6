// Kernels of aten operators that cut tensors into parts, join parts, or keep a part and clear the rest.
#include <algorithm>
#include <limits>

#include "lib/eval/primitives/axis_rows.h"
#include "lib/eval/primitives/strided.h"
#include "lib/eval/primitives/typed.h"
#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Parts of another float type are cast to the result's, as torch promotes them.
Result<Tensor> in_type(const AtenCall& c, const Tensor& part, const Tensor& result) {
  if (part.element_bytes() == result.element_bytes() && part.store() == result.store()) return part;
  if (c.call.carriers || part.lanes() != 1 || result.lanes() != 1)
    return c.call.unsupported("on tensors of several types");
  auto out = c.call.make(result.dtype, part.shape);
  if (out) cast_elements(part, *out);
  return out;
}

/// cat, and stack as cat of unsqueezed parts.
Status cat(KernelCall& call) {
  AtenCall c(call);
  auto parts = c.operands("tensors");
  std::erase_if(parts,
                [](const Tensor* t) { return t && t->rank() == 1 && t->size() == 0; });  // torch's rule
  if (parts.empty()) parts = c.operands("tensors");
  if (parts.empty() || std::count(parts.begin(), parts.end(), nullptr)) return c.bad("an absent tensor");
  const bool stacks = aten_base(call.node.op) == "aten.stack";
  const int rank = parts[0]->rank() + (stacks ? 1 : 0), dim = rank ? c.dim("dim", rank) : -1;
  if (dim < 0) return c.bad("an axis outside the tensor");
  std::vector<Shape> shapes;
  Shape out;
  for (const Tensor* part : parts) {
    Shape s = part->shape;
    if (static_cast<int>(s.size()) + (stacks ? 1 : 0) != rank)
      return call.unsupported("on tensors of several ranks");
    if (stacks) s.insert(s.begin() + dim, 1);
    for (std::size_t d = 0; d < s.size(); ++d)
      if (!out.empty() && d != at(dim) && s[d] != out[d]) return c.bad("parts of different sizes");
    if (out.empty())
      out = s;
    else
      out[at(dim)] += s[at(dim)];
    shapes.push_back(std::move(s));
  }
  auto result = call.make_output(0, out);
  if (!result) return tl::make_unexpected(result.error());
  View view = whole(out);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = in_type(c, *parts[i], *result);
    if (!part) return tl::make_unexpected(part.error());
    view.dims = shapes[i];
    write_view(part->reshaped(shapes[i]), *result, view);
    view.base += shapes[i][at(dim)] * view.steps[at(dim)];
  }
  call.outputs[0] = std::move(*result);
  return {};
}

/// split, split_with_sizes, chunk and unbind: several results along one axis. The graph says how long each
/// is.
Status parts(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const int dim = x.rank() ? c.dim("dim", x.rank(), 0) : -1;
  if (dim < 0) return c.bad("an axis outside the tensor");
  const bool unbind = aten_base(call.node.op).starts_with("aten.unbind");
  View view = whole(x.shape);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (i >= call.node.outputs.size() || call.node.outputs[i] == none_id)
      return call.unsupported("with absent results");
    const Shape& typed = call.out_value(i).shape;
    const std::int64_t length = unbind ? 1 : typed.size() == x.shape.size() ? typed[at(dim)] : -1;
    if (length < 0 || start + length > x.shape[at(dim)]) return c.bad("parts that do not fit");
    View part = view;
    part.base = start * view.steps[at(dim)];
    part.dims[at(dim)] = length;
    if (unbind) part.dims.erase(part.dims.begin() + dim), part.steps.erase(part.steps.begin() + dim);
    if (auto ok = c.give_view(x, part, i); !ok) return ok;
    start += length;
  }
  return {};
}

/// tril and triu: zeros above or below a diagonal.
Status triangle(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.rank() < 2 || x.lanes() != 1) return call.unsupported("with these operands");
  const bool lower = aten_base(call.node.op) == "aten.tril";
  const std::int64_t diagonal = call.attrs().integer("diagonal"), rows = x.shape[x.shape.size() - 2],
                     columns = x.shape.back();
  std::vector<std::int64_t> from(x.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    const std::int64_t row = place / columns % rows, column = place % columns;
    from[i] = (lower ? column - row <= diagonal : column - row >= diagonal) ? place : -1;
  }
  return c.move(x, x.shape, from);
}

/// roll: elements that leave at one end enter at the other; without axes, over the elements in a row.
Status roll(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto shifts = c.sizes("shifts");
  auto dims = c.sizes("dims").value_or(Shape{});
  if (!shifts || shifts->empty()) return c.bad("no shifts");
  const bool flat = dims.empty();
  if (flat ? shifts->size() != 1 : dims.size() != shifts->size())
    return c.bad("shifts that do not fit the axes");
  Tensor now = flat ? x.reshaped({static_cast<std::int64_t>(x.size())}) : x;
  for (std::size_t s = 0; s < shifts->size(); ++s) {
    const auto axis = flat ? std::optional<std::size_t>(0) : normal_axis(dims[s], x.shape.size());
    if (!axis) return c.bad("an axis outside the tensor");
    const std::int64_t size = now.shape[*axis], by = size ? ((*shifts)[s] % size + size) % size : 0;
    auto out = moved_output(call, 0, now, now.shape);
    if (!out) return tl::make_unexpected(out.error());
    View view = whole(now.shape);
    const auto copy = [&](std::int64_t from, std::int64_t to, std::int64_t length) {
      View read = view, write = view;
      read.dims[*axis] = write.dims[*axis] = length;
      read.base = from * view.steps[*axis], write.base = to * view.steps[*axis];
      Tensor part = Tensor::make(out->dtype, read.dims, call.wide() && !call.carriers);
      read_view(now, read, part);
      write_view(part, *out, write);
    };
    if (size) copy(0, by, size - by), copy(size - by, 0, by);
    now = std::move(*out);
  }
  call.outputs[0] = std::move(now);
  call.outputs[0].shape = x.shape;
  return {};
}

/// repeat_interleave by one number: each element along an axis `n` times in a row.
Status repeat_interleave(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const std::int64_t n = call.attrs().integer("repeats", -1);
  const bool flat = !c.given("dim");
  const Tensor x = flat ? call.in(0).reshaped({static_cast<std::int64_t>(call.in(0).size())}) : call.in(0);
  const int dim = flat ? 0 : x.rank() ? c.dim("dim", x.rank()) : -1;
  if (dim < 0 || n < 0 || n > (std::int64_t{1} << 40)) return c.bad("repeats that do not fit");
  View view = whole(x.shape);
  view.dims.insert(view.dims.begin() + dim + 1, n), view.steps.insert(view.steps.begin() + dim + 1, 0);
  if (auto ok = c.give_view(x, view); !ok) return ok;
  Shape shape = x.shape;
  if (__builtin_mul_overflow(shape[at(dim)], n, &shape[at(dim)])) return c.bad("repeats that do not fit");
  call.outputs[0].shape = std::move(shape);
  return {};
}

/// What pads: a number, the mirror image, the nearest element, the other end.
enum class Padding { constant, reflect, replicate, circular };
std::optional<Padding> padding_of(const KernelCall& call) {
  const std::string base = aten_base(call.node.op);
  const std::string_view mode = base.starts_with("aten.reflection_pad") ? "reflect"
                                : base.starts_with("aten.replication_pad")
                                    ? "replicate"
                                    : call.attrs().text("mode", "constant");
  if (mode == "constant") return Padding::constant;
  if (mode == "reflect") return Padding::reflect;
  if (mode == "replicate") return Padding::replicate;
  if (mode == "circular") return Padding::circular;
  return std::nullopt;
}

/// Where the element at `i` (may be outside) comes from; -1: from the number.
std::int64_t source_of(Padding kind, std::int64_t i, std::int64_t size) {
  switch (kind) {
    case Padding::constant:
      return i < 0 || i >= size ? -1 : i;
    case Padding::reflect:
      return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
    case Padding::replicate:
      return std::clamp<std::int64_t>(i, 0, size - 1);
    case Padding::circular:
      return ((i % size) + size) % size;
  }
  return -1;
}

Status pad(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto pairs = c.sizes(c.attrs().find("pad") ? "pad" : "padding");
  const auto kind = padding_of(call);
  if (!kind) return call.unsupported("of this mode");
  if (!pairs || pairs->size() % 2 || pairs->size() / 2 > x.shape.size())
    return c.bad("padding that does not fit");
  Shape out = x.shape, before(x.shape.size(), 0);
  for (std::size_t p = 0; p < pairs->size() / 2; ++p) {
    const std::size_t d = x.shape.size() - 1 - p;
    const std::int64_t low = (*pairs)[2 * p], high = (*pairs)[2 * p + 1];
    if (std::abs(low) > (std::int64_t{1} << 40) || std::abs(high) > (std::int64_t{1} << 40))
      return c.bad("padding that does not fit");
    before[d] = low, out[d] += low + high;
    if (out[d] < 0 || (*kind == Padding::reflect && std::max(low, high) >= x.shape[d]) ||
        (*kind != Padding::constant && x.shape[d] == 0))
      return c.bad("padding that does not fit");
  }
  if (!element_count(out) || *element_count(out) > call.options.max_bytes)
    return c.bad("padding past any memory");
  const auto strides = strides_of(x.shape);
  std::vector<std::int64_t> from;
  from.reserve(static_cast<std::size_t>(*element_count(out)));
  for_each_index(out, [&](const std::vector<std::int64_t>& index) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < index.size() && place >= 0; ++d) {
      const std::int64_t i = source_of(*kind, index[d] - before[d], x.shape[d]);
      place = i < 0 ? -1 : place + i * strides[d];
    }
    from.push_back(place);
  });
  const double fill = c.number("value", 0);
  if (fill == 0 || *kind != Padding::constant) return c.move(x, out, from);
  if (x.lanes() != 1) return call.unsupported("of complex values with a number");
  return with_arithmetic(call, x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const As<T> numbers(x);
    return give_numbers<T>(call, 0, out, [&](std::span<T> to) {
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = from[i] < 0 ? cast_number<T>(fill, x.dtype) : numbers[at(from[i])];
    });
  });
}

constexpr KernelEntry entries[] = {
    {"aten.cat.default", cat, all_operands},
    {"aten.concat.default", cat, all_operands},
    {"aten.stack.default", cat, all_operands},
    {"aten.split.Tensor", parts, all_operands},
    {"aten.split_with_sizes.default", parts, all_operands},
    {"aten.split_with_sizes_copy.default", parts, all_operands},
    {"aten.split_copy.Tensor", parts, all_operands},
    {"aten.chunk.default", parts, all_operands},
    {"aten.unbind.int", parts, all_operands},
    {"aten.unbind_copy.int", parts, all_operands},
    {"aten.tril.default", triangle},
    {"aten.tril_.default", triangle},
    {"aten.triu.default", triangle},
    {"aten.triu_.default", triangle},
    {"aten.roll.default", roll, all_operands},
    {"aten.repeat_interleave.self_int", repeat_interleave, all_operands},
    {"aten.constant_pad_nd.default", pad},
    {"aten.pad.default", pad},
    {"aten.reflection_pad1d.default", pad},
    {"aten.reflection_pad2d.default", pad},
    {"aten.reflection_pad3d.default", pad},
    {"aten.replication_pad1d.default", pad},
    {"aten.replication_pad2d.default", pad},
    {"aten.replication_pad3d.default", pad},
};

}  // namespace

std::span<const KernelEntry> aten_parts_kernels() { return entries; }

}  // namespace md
