// Kernels of aten operators that move elements: views, slices, permutations, concatenation, padding.
#include <algorithm>
#include <limits>
#include <numeric>

#include "lib/format/torch/call.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

std::vector<std::int64_t> positions(const Shape& out, const Shape& in, const auto& f) {
  const auto strides = strides_of(in);
  std::vector<std::int64_t> from;
  for_each_index(out, [&](const std::vector<std::int64_t>& index) { from.push_back(f(index, strides)); });
  return from;
}

Status same(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (!call.carriers && x.dtype != call.out_value().dtype) return call.unsupported("that changes the type");
  call.outputs[0] = x;
  return {};
}

Status reshape(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const std::string base = aten_base(call.node.op);
  std::optional<Shape> target;
  if (base == "aten.flatten") {
    const int rank = x.rank(), a = rank ? c.dim("start_dim", rank, 0) : 0,
              b = rank ? c.dim("end_dim", rank, -1) : 0;
    if (a < 0 || b < a) return c.bad("axes outside the tensor");
    Shape s(x.shape.begin(), x.shape.begin() + a);
    std::int64_t merged = 1;
    for (int d = a; d <= b && d < rank; ++d) merged *= x.shape[static_cast<std::size_t>(d)];
    s.push_back(merged);
    for (int d = b + 1; d < rank; ++d) s.push_back(x.shape[static_cast<std::size_t>(d)]);
    target = s;
  } else if (base == "aten.unsqueeze") {
    const int at = c.dim("dim", x.rank() + 1);
    if (at < 0) return c.bad("an axis outside the tensor");
    Shape s = x.shape;
    s.insert(s.begin() + at, 1);
    target = s;
  } else if (base == "aten.squeeze") {
    std::vector<int> gone = c.dims("dim", x.rank());
    Shape s;
    for (int d = 0; d < x.rank(); ++d)
      if (x.shape[static_cast<std::size_t>(d)] != 1 || std::find(gone.begin(), gone.end(), d) == gone.end())
        s.push_back(x.shape[static_cast<std::size_t>(d)]);
    target = s;
  } else {
    target = c.sizes(base == "aten.reshape" ? "shape" : "size");
    if (!target) target = call.out_value().shape;
    if (base == "aten.unflatten") target = call.out_value().shape;
  }
  std::int64_t known = 1, free = -1;
  for (std::size_t d = 0; d < target->size(); ++d) {
    if ((*target)[d] < 0)
      free = static_cast<std::int64_t>(d);
    else
      known *= (*target)[d];
  }
  if (free >= 0)
    (*target)[static_cast<std::size_t>(free)] = known ? static_cast<std::int64_t>(x.size()) / known : 0;
  if (element_count(*target) != static_cast<std::int64_t>(x.size()))
    return c.bad(fmt::format("{} elements do not fit {}", x.size(), shape_text(*target)));
  call.outputs[0] = x.reshaped(*target);
  if (!call.carriers) call.outputs[0].dtype = call.out_value().dtype;
  return {};
}

struct Bounds {
  int dim = 0;
  std::int64_t start = 0, length = 0, step = 1;
};

Result<Bounds> bounds_of(const AtenCall& c, const Shape& shape) {
  Bounds b;
  b.dim = c.dim("dim", static_cast<int>(shape.size()));
  if (b.dim < 0 || shape.empty()) return tl::make_unexpected(c.bad("an axis outside the tensor").error());
  const std::int64_t size = shape[static_cast<std::size_t>(b.dim)];
  const auto clamped = [&](std::int64_t v) {
    return std::clamp<std::int64_t>(v < 0 ? v + size : v, 0, size);
  };
  b.start = clamped(c.attrs().integer("start", 0));
  b.step = std::max<std::int64_t>(c.attrs().integer("step", 1), 1);
  const std::int64_t end =
      std::max(b.start, clamped(c.attrs().integer("end", std::numeric_limits<std::int64_t>::max())));
  b.length = (end - b.start + b.step - 1) / b.step;
  return b;
}

Status slice(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto b = bounds_of(c, x.shape);
  if (!b) return tl::make_unexpected(b.error());
  Shape out = x.shape;
  out[static_cast<std::size_t>(b->dim)] = b->length;
  return c.move(x, out, positions(out, x.shape, [&](const auto& index, const auto& strides) {
                  std::int64_t at = 0;
                  for (std::size_t d = 0; d < index.size(); ++d)
                    at += (static_cast<int>(d) == b->dim ? b->start + index[d] * b->step : index[d]) *
                          strides[d];
                  return at;
                }));
}

Status select(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const int dim = c.dim("dim", x.rank());
  if (dim < 0) return c.bad("an axis outside the tensor");
  std::int64_t index_at = c.attrs().integer("index");
  if (index_at < 0) index_at += x.shape[static_cast<std::size_t>(dim)];
  Shape out = x.shape;
  out.erase(out.begin() + dim);
  return c.move(x, out, positions(out, x.shape, [&](const auto& index, const auto& strides) {
                  std::int64_t at = index_at * strides[static_cast<std::size_t>(dim)];
                  for (std::size_t d = 0; d < index.size(); ++d)
                    at += index[d] * strides[d < static_cast<std::size_t>(dim) ? d : d + 1];
                  return at;
                }));
}

Status permute(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const std::string base = aten_base(call.node.op);
  std::vector<std::size_t> order(x.shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (base == "aten.transpose" || base == "aten.t") {
    if (x.rank() >= 2) {
      const int a = base == "aten.t" ? 0 : c.dim("dim0", x.rank()),
                b = base == "aten.t" ? 1 : c.dim("dim1", x.rank());
      if (a < 0 || b < 0) return c.bad("an axis outside the tensor");
      std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
    }
  } else {
    const auto dims = c.sizes("dims");
    if (!dims || dims->size() != order.size()) return c.bad("a permutation of another rank");
    for (std::size_t d = 0; d < order.size(); ++d) {
      const std::int64_t at = (*dims)[d] < 0 ? (*dims)[d] + x.rank() : (*dims)[d];
      if (at < 0 || at >= x.rank()) return c.bad("an axis outside the tensor");
      order[d] = static_cast<std::size_t>(at);
    }
  }
  Shape out;
  for (const std::size_t d : order) out.push_back(x.shape[d]);
  return c.move(x, out, positions(out, x.shape, [&](const auto& index, const auto& strides) {
                  std::int64_t at = 0;
                  for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * strides[order[d]];
                  return at;
                }));
}

Status expand(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  auto target = c.sizes("size");
  if (!target || target->size() < x.shape.size()) return c.bad("sizes that do not fit");
  const std::size_t offset = target->size() - x.shape.size();
  for (std::size_t d = 0; d < target->size(); ++d)
    if ((*target)[d] < 0) (*target)[d] = d < offset ? 1 : x.shape[d - offset];
  const auto fits = aten_broadcast({x.shape, *target});
  if (!fits || *fits != *target) return c.bad("sizes that do not fit");
  return c.move(x, *target, broadcast_positions(x.shape, *target));
}

Status flip(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto dims = c.sizes("dims").value_or(Shape{}).empty() ? std::vector<int>{} : c.dims("dims", x.rank());
  return c.move(x, x.shape, positions(x.shape, x.shape, [&](const auto& index, const auto& strides) {
                  std::int64_t at = 0;
                  for (std::size_t d = 0; d < index.size(); ++d)
                    at += (std::find(dims.begin(), dims.end(), static_cast<int>(d)) != dims.end()
                               ? x.shape[d] - 1 - index[d]
                               : index[d]) *
                          strides[d];
                  return at;
                }));
}

Status repeat(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto repeats = c.sizes("repeats");
  if (!repeats || repeats->size() < x.shape.size()) return c.bad("repeats that do not fit");
  Shape padded(repeats->size() - x.shape.size(), 1);
  padded.insert(padded.end(), x.shape.begin(), x.shape.end());
  Shape out = padded;
  for (std::size_t d = 0; d < out.size(); ++d) out[d] *= (*repeats)[d];
  return c.move(x, out, positions(out, padded, [&](const auto& index, const auto& strides) {
                  std::int64_t at = 0;
                  for (std::size_t d = 0; d < index.size(); ++d)
                    at += index[d] % std::max<std::int64_t>(padded[d], 1) * strides[d];
                  return at;
                }));
}

/// cat, and stack as cat of unsqueezed parts.
Status cat(KernelCall& call) {
  AtenCall c(call);
  auto parts = c.operands("tensors");
  if (parts.empty()) return c.bad("no tensors");
  const bool stacks = aten_base(call.node.op) == "aten.stack";
  const int rank = parts[0]->rank() + (stacks ? 1 : 0), dim = c.dim("dim", rank);
  if (dim < 0) return c.bad("an axis outside the tensor");
  std::vector<Tensor> shaped;
  Shape out;
  for (const Tensor* part : parts) {
    if (!part) return c.bad("an absent tensor");
    Shape s = part->shape;
    if (stacks) s.insert(s.begin() + dim, 1);
    if (static_cast<int>(s.size()) != rank || part->element_bytes() != parts[0]->element_bytes())
      return call.unsupported("on tensors of several types or ranks");
    shaped.push_back(part->reshaped(s));
    if (out.empty())
      out = s;
    else
      out[static_cast<std::size_t>(dim)] += s[static_cast<std::size_t>(dim)];
  }
  Tensor result = Tensor::make(parts[0]->dtype, out, call.wide());
  const std::size_t width = result.element_bytes();
  const auto strides = strides_of(out);
  std::int64_t offset = 0;
  for (const Tensor& part : shaped) {
    std::size_t k = 0;
    bool fits = true;
    for_each_index(part.shape, [&](const std::vector<std::int64_t>& index) {
      std::int64_t at = offset * strides[static_cast<std::size_t>(dim)];
      for (std::size_t d = 0; d < index.size(); ++d) {
        at += index[d] * strides[d];
        fits = fits && (static_cast<int>(d) == dim || index[d] < out[d]);
      }
      if (fits && static_cast<std::size_t>(at) < result.size())
        std::copy_n(part.raw() + k * width, width,
                    result.mutable_raw() + static_cast<std::size_t>(at) * width);
      ++k;
    });
    if (!fits) return c.bad("parts of different sizes");
    offset += part.shape[static_cast<std::size_t>(dim)];
  }
  result.dtype = call.carriers ? result.dtype : call.out_value().dtype;
  call.outputs[0] = std::move(result);
  return {};
}

/// constant_pad_nd, and pad and reflection_pad1d with reflection.
Status pad(KernelCall& call) {
  AtenCall c(call);
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto pairs = c.sizes(c.attrs().find("pad") ? "pad" : "padding");
  if (!pairs || pairs->size() % 2 || pairs->size() / 2 > x.shape.size())
    return c.bad("padding that does not fit");
  const std::string_view mode =
      aten_base(call.node.op) == "aten.reflection_pad1d" ? "reflect" : c.attrs().text("mode", "constant");
  const bool reflects = mode == "reflect";
  if (!reflects && mode != "constant") return call.unsupported("of this mode");
  Shape out = x.shape, before(x.shape.size(), 0);
  for (std::size_t p = 0; p < pairs->size() / 2; ++p) {
    const std::size_t d = x.shape.size() - 1 - p;
    before[d] = (*pairs)[2 * p], out[d] += (*pairs)[2 * p] + (*pairs)[2 * p + 1];
    if (out[d] < 0 || (reflects && std::max((*pairs)[2 * p], (*pairs)[2 * p + 1]) >= x.shape[d]))
      return c.bad("padding that does not fit");
  }
  const auto from = positions(out, x.shape, [&](const auto& index, const auto& strides) -> std::int64_t {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      std::int64_t i = index[d] - before[d];
      if (reflects) i = i < 0 ? -i : i >= x.shape[d] ? 2 * (x.shape[d] - 1) - i : i;
      if (i < 0 || i >= x.shape[d]) return -1;
      at += i * strides[d];
    }
    return at;
  });
  const double fill = c.attrs().number("value", 0);
  if (fill == 0) return c.move(x, out, from);
  const auto numbers = x.numbers();
  std::vector<double> result;
  for (const std::int64_t f : from) result.push_back(f < 0 ? fill : numbers[static_cast<std::size_t>(f)]);
  return c.give(out, result);
}

/// slice_scatter and select_scatter.
Status scatter_slice(KernelCall& call) {
  AtenCall c(call);
  const Tensor *x = c.operand("self"), *src = c.operand("src");
  if (!x || !src || x->element_bytes() != src->element_bytes()) return c.bad("operands that do not fit");
  Bounds b;
  Shape part = x->shape;
  if (aten_base(call.node.op) == "aten.select_scatter") {
    b.dim = c.dim("dim", x->rank());
    if (b.dim < 0) return c.bad("an axis outside the tensor");
    b.start = c.attrs().integer("index"), b.length = 1;
    if (b.start < 0) b.start += x->shape[static_cast<std::size_t>(b.dim)];
  } else {
    const auto bounds = bounds_of(c, x->shape);
    if (!bounds) return tl::make_unexpected(bounds.error());
    b = *bounds;
  }
  part[static_cast<std::size_t>(b.dim)] = b.length;
  if (element_count(part) != static_cast<std::int64_t>(src->size()))
    return c.bad("a source of another size than the slice");
  Tensor out = Tensor::make(x->dtype, x->shape, call.wide());
  const std::size_t width = out.element_bytes();
  std::copy_n(x->raw(), x->size() * width, out.mutable_raw());
  const auto strides = strides_of(x->shape);
  std::size_t k = 0;
  for_each_index(part, [&](const std::vector<std::int64_t>& index) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      at += (static_cast<int>(d) == b.dim ? b.start + index[d] * b.step : index[d]) * strides[d];
    if (at >= 0 && static_cast<std::size_t>(at) < out.size())
      std::copy_n(src->raw() + k * width, width, out.mutable_raw() + static_cast<std::size_t>(at) * width);
    ++k;
  });
  call.outputs[0] = std::move(out);
  return {};
}

Status nothing(KernelCall&) { return {}; }

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
    {"aten._unsafe_view.default", reshape, all_operands},
    {"aten.reshape.default", reshape, all_operands},
    {"aten.flatten.using_ints", reshape, all_operands},
    {"aten.unflatten.int", reshape, all_operands},
    {"aten.unsqueeze.default", reshape, all_operands},
    {"aten.squeeze.dim", reshape, all_operands},
    {"aten.squeeze.dims", reshape, all_operands},
    {"aten.squeeze.default", reshape, all_operands},
    {"aten.slice.Tensor", slice, all_operands},
    {"aten.select.int", select, all_operands},
    {"aten.permute.default", permute, all_operands},
    {"aten.transpose.int", permute, all_operands},
    {"aten.t.default", permute, all_operands},
    {"aten.expand.default", expand, all_operands},
    {"aten.flip.default", flip, all_operands},
    {"aten.repeat.default", repeat, all_operands},
    {"aten.cat.default", cat, all_operands},
    {"aten.stack.default", cat, all_operands},
    {"aten.constant_pad_nd.default", pad},
    {"aten.pad.default", pad},
    {"aten.reflection_pad1d.default", pad},
    {"aten.slice_scatter.default", scatter_slice, all_operands},
    {"aten.select_scatter.default", scatter_slice, all_operands},
    {"buffer_mutation", nothing},
    {"aten._assert_tensor_metadata.default", nothing},
    {"aten._assert_scalar.default", nothing},
};

}  // namespace

std::span<const KernelEntry> aten_movement_kernels() { return entries; }

}  // namespace md
