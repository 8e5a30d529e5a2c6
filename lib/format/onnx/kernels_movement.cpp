// Kernels of operators that move, cut and join elements.
#include <algorithm>
#include <limits>
#include <numeric>

#include "lib/format/onnx/call.h"
#include "lib/format/onnx/kernels.h"

namespace md {
namespace {

using onnx::at;
using onnx::Numbers;

Status reshape(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto wanted =
      call.node.version < 5 ? onnx::list_of(call, "shape", 99) : onnx::operand_numbers(call, 1);
  if (!wanted && call.node.version >= 5) return call.bad("no list of sizes");
  Shape shape = wanted.value_or(Shape());
  const bool zeros = call.attrs().flag("allowzero");
  std::optional<std::size_t> rest;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && !zeros) {
      if (d >= x.shape.size()) return call.bad("a size of 0 without a dimension to copy");
      shape[d] = x.shape[d];
    }
    if (shape[d] == -1 && !rest)
      rest = d;
    else if (shape[d] < 0 || __builtin_mul_overflow(count, shape[d], &count))
      return call.bad("a size that does not fit");
  }
  const auto size = static_cast<std::int64_t>(x.size());
  if (rest) {
    if (count == 0 ? size != 0 : size % count) return call.bad("elements that do not fit the shape");
    shape[*rest] = count == 0 ? 0 : size / count;
  } else if (count != size) {
    return call.bad(fmt::format("{} elements into the shape {}", size, shape_text(shape)));
  }
  call.forward(0, x, std::move(shape));
  return {};
}

Status flatten(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  std::int64_t axis = call.attrs().integer("axis", 1);
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis > x.rank()) return call.bad("an axis outside the tensor");
  const std::span<const std::int64_t> dims(x.shape);
  call.forward(0, x, {product(dims.first(at(axis))), product(dims.subspan(at(axis)))});
  return {};
}

Status squeeze(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto axes = onnx::list_of(call, "axes", 1);
  std::vector<bool> drop(x.shape.size(), false);
  if (axes && !axes->empty()) {
    const auto marked = onnx::marked_axes(axes, x.shape.size());
    if (!marked) return call.bad("an axis outside the tensor");
    drop = *marked;
  } else {
    for (std::size_t d = 0; d < drop.size(); ++d) drop[d] = x.shape[d] == 1;
  }
  Shape shape;
  for (std::size_t d = 0; d < drop.size(); ++d) {
    if (drop[d] && x.shape[d] != 1) return call.bad("a dimension that is not 1");
    if (!drop[d]) shape.push_back(x.shape[d]);
  }
  call.forward(0, x, std::move(shape));
  return {};
}

Status unsqueeze(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto axes = onnx::list_of(call, "axes", 1);
  if (!axes) return call.bad("no axes");
  std::vector<bool> added(x.shape.size() + axes->size(), false);
  for (const std::int64_t number : *axes) {
    const auto axis = normal_axis(number, added.size());
    if (!axis || added[*axis]) return call.bad("an axis outside the result, or one named twice");
    added[*axis] = true;
  }
  Shape shape;
  std::size_t next = 0;
  for (const bool one : added) shape.push_back(one ? 1 : x.shape[next++]);
  call.forward(0, x, std::move(shape));
  return {};
}

Status transpose(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  Numbers perm = onnx::list_of(call, "perm", 99).value_or(Numbers());
  if (perm.empty())
    for (std::size_t d = x.shape.size(); d-- > 0;) perm.push_back(static_cast<std::int64_t>(d));
  std::vector<bool> seen(x.shape.size(), false);
  if (perm.size() != seen.size()) return call.bad("a permutation of another rank");
  View view;
  const auto strides = strides_of(x.shape);
  for (const std::int64_t p : perm) {
    if (p < 0 || at(p) >= seen.size() || seen[at(p)]) return call.bad("no permutation");
    seen[at(p)] = true;
    view.dims.push_back(x.shape[at(p)]), view.steps.push_back(strides[at(p)]);
  }
  return onnx::give_view(call, 0, x, view);
}

Status concat(KernelCall& call) {
  if (auto ok = call.need(call.count()); !ok) return ok;
  if (call.count() == 0) return call.bad("no operands");
  const Tensor& first = call.in(0);
  const auto axis =
      normal_axis(call.attrs().integer("axis", call.node.version < 4 ? 1 : 0), first.shape.size());
  if (!axis) return call.bad("an axis outside the tensor");
  Shape shape = first.shape;
  for (std::size_t i = 1; i < call.count(); ++i) {
    const Tensor& part = call.in(i);
    if (part.shape.size() != shape.size() || part.element_bytes() != first.element_bytes())
      return call.bad("parts of several ranks or types");
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (d != *axis && part.shape[d] != shape[d]) return call.bad("parts of several sizes");
    shape[*axis] += part.shape[*axis];
  }
  auto out = moved_output(call, 0, first, shape);
  if (!out) return tl::make_unexpected(out.error());
  View view = whole(shape);
  for (std::size_t i = 0; i < call.count(); ++i) {
    view.dims = call.in(i).shape;
    write_view(call.in(i), *out, view);
    view.base += view.dims[*axis] * view.steps[*axis];
  }
  call.outputs[0] = std::move(*out);
  return {};
}

Status split(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto axis = normal_axis(call.attrs().integer("axis"), x.shape.size());
  if (!axis) return call.bad("an axis outside the tensor");
  const std::int64_t size = x.shape[*axis];
  const auto parts = static_cast<std::int64_t>(call.node.outputs.size());
  Numbers sizes = onnx::list_of(call, "split", 1).value_or(Numbers());
  if (sizes.empty()) {
    const std::int64_t chunk = parts ? (size + parts - 1) / parts : 0;
    for (std::int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<std::int64_t>(size - i * chunk, 0, chunk));
  }
  if (static_cast<std::int64_t>(sizes.size()) != parts)
    return call.bad("another number of sizes than results");
  View view = whole(x.shape);
  std::int64_t from = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > size - from) return call.bad("parts that do not fit");
    View part = view;
    part.base = from * view.steps[*axis], part.dims[*axis] = sizes[i];
    from += sizes[i];
    if (onnx::wants(call, i))
      if (auto ok = onnx::give_view(call, i, x, part); !ok) return ok;
  }
  return {};
}

Status slice(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const bool old = call.node.version < 10;
  const auto starts = old ? onnx::list_of(call, "starts", 99) : onnx::operand_numbers(call, 1),
             ends = old ? onnx::list_of(call, "ends", 99) : onnx::operand_numbers(call, 2);
  auto axes = old ? onnx::list_of(call, "axes", 99) : onnx::operand_numbers(call, 3);
  const auto steps = old ? std::nullopt : onnx::operand_numbers(call, 4);
  if (!starts || !ends || starts->size() != ends->size()) return call.bad("starts and ends that do not fit");
  if (!axes) {
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (axes->size() != starts->size() || (steps && steps->size() != starts->size()))
    return call.bad("axes or steps that do not fit");
  View view = whole(x.shape);
  const View source = view;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = normal_axis((*axes)[i], x.shape.size());
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (!axis || step == 0) return call.bad("an axis outside the tensor, or a step of 0");
    const std::int64_t n = x.shape[*axis];
    const auto from_end = [&](std::int64_t v) { return v < 0 ? v + n : v; };
    std::int64_t first = from_end((*starts)[i]), last = from_end((*ends)[i]), length = 0;
    if (step > 0) {
      first = std::clamp<std::int64_t>(first, 0, n), last = std::clamp<std::int64_t>(last, 0, n);
      length = last > first ? (last - first - 1) / step + 1 : 0;
    } else if (n > 0) {
      first = std::clamp<std::int64_t>(first, 0, n - 1), last = std::clamp<std::int64_t>(last, -1, n - 1);
      const std::int64_t stride =
          step == std::numeric_limits<std::int64_t>::min() ? std::numeric_limits<std::int64_t>::max() : -step;
      length = first > last ? (first - last - 1) / stride + 1 : 0;
    }
    view.base += length ? first * source.steps[*axis] : 0;
    view.dims[*axis] = length;
    view.steps[*axis] = length > 1 ? step * source.steps[*axis] : source.steps[*axis];
  }
  return onnx::give_view(call, 0, x, view);
}

Status expand(KernelCall& call) {
  const auto wanted = onnx::operand_numbers(call, 1);
  if (auto ok = call.need(2); !ok) return ok;
  if (!wanted || std::any_of(wanted->begin(), wanted->end(), [](std::int64_t n) { return n < 0; }))
    return call.bad("no list of sizes");
  const Tensor& x = call.in(0);
  const auto shape = onnx::joint_shape(call, x.shape, *wanted);
  if (!shape) return tl::make_unexpected(shape.error());
  View view;
  view.dims = *shape;
  view.steps.assign(shape->size(), 0);
  const auto strides = strides_of(x.shape);
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] != 1) view.steps[shape->size() - x.shape.size() + d] = strides[d];
  return onnx::give_view(call, 0, x, view);
}

Status tile(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  auto repeats = onnx::operand_numbers(call, 1);
  if (repeats && call.node.version < 6) {  // tiles along one axis
    const auto axis = call.has(2) ? onnx::operand_numbers(call, 2) : std::nullopt;
    if (!axis || axis->size() != 1 || repeats->size() != 1) return call.bad("tiles that do not fit");
    const auto where = normal_axis(axis->front(), x.shape.size());
    if (!where) return call.bad("an axis outside the tensor");
    Numbers all(x.shape.size(), 1);
    all[*where] = repeats->front();
    repeats = std::move(all);
  }
  if (!repeats || repeats->size() != x.shape.size()) return call.bad("repeats that do not fit");
  View view;
  Shape shape;
  const auto strides = strides_of(x.shape);
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const std::int64_t n = (*repeats)[d];
    std::int64_t total = 0;
    if (n < 0 || __builtin_mul_overflow(n, x.shape[d], &total)) return call.bad("repeats that do not fit");
    view.dims.push_back(n), view.steps.push_back(0);
    view.dims.push_back(x.shape[d]), view.steps.push_back(strides[d]);
    shape.push_back(total);
  }
  if (auto ok = onnx::give_view(call, 0, x, view); !ok) return ok;
  call.outputs[0].shape = std::move(shape);
  return {};
}

/// Where the element at `i` (may be outside) of an axis comes from; -1: from the number.
std::int64_t source_of(std::string_view mode, std::int64_t i, std::int64_t n) {
  if (i >= 0 && i < n) return i;
  if (n == 0 || mode == "constant") return -1;
  if (mode == "edge") return std::clamp<std::int64_t>(i, 0, n - 1);
  if (mode == "wrap") return ((i % n) + n) % n;
  if (n == 1) return 0;
  const std::int64_t period = 2 * (n - 1), r = ((i % period) + period) % period;  // reflect
  return r < n ? r : period - r;
}

Status pad(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const bool old = call.node.version < 11 && call.node.custom.empty();
  const auto pads = old ? onnx::list_of(call, call.node.version < 2 ? "paddings" : "pads", 99)
                        : onnx::operand_numbers(call, 1);
  auto axes = old ? std::nullopt : onnx::operand_numbers(call, 3);
  const std::size_t count = axes ? axes->size() : x.shape.size();
  if (!pads || pads->size() != 2 * count) return call.bad("pads that do not fit");
  Numbers before(x.shape.size(), 0), behind(x.shape.size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = axes ? normal_axis((*axes)[i], x.shape.size()) : std::optional(i);
    if (!axis) return call.bad("an axis outside the tensor");
    before[*axis] = (*pads)[i], behind[*axis] = (*pads)[count + i];
  }
  const std::string_view mode = call.attrs().text("mode", "constant");
  Shape shape = x.shape;
  std::vector<Numbers> sources(x.shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    for (const std::int64_t p : {before[d], behind[d]})
      if (std::abs(p) > (std::int64_t{1} << 40)) return call.bad("a padding that does not fit");
    shape[d] = std::max<std::int64_t>(shape[d] + before[d] + behind[d], 0);
    if (shape[d] > (std::int64_t{1} << 28)) return call.unsupported("of this size");
    for (std::int64_t i = 0; i < shape[d]; ++i)
      sources[d].push_back(source_of(mode, i - before[d], x.shape[d]));
  }
  auto out = moved_output(call, 0, x, shape);
  if (!out) return tl::make_unexpected(out.error());
  // The number that fills: an operand's, an attribute's, else 0.
  Tensor value;
  if (!old && call.has(2) && call.in(2).size() == 1 && call.in(2).element_bytes() == x.element_bytes()) {
    value = call.in(2);
  } else if (call.carriers) {
    const std::int64_t code = carrier_code(x.dtype, old ? call.attrs().number("value") : 0);
    value = Tensor::of_integers(x.dtype, {}, std::vector<std::int64_t>{code});
    if (value.element_bytes() != x.element_bytes())
      value = Tensor::of_integers(DType::i64, {}, std::vector<std::int64_t>{code});
  } else {
    value =
        Tensor::of(x.dtype, {}, std::vector<double>{old ? call.attrs().number("value") : 0, 0}, call.wide());
  }
  if (value.element_bytes() != x.element_bytes()) return call.unsupported("with this number");
  fill(*out, value.raw());
  const auto strides = strides_of(x.shape);
  const std::size_t width = x.element_bytes();
  std::byte* to = out->mutable_raw();
  std::size_t k = 0;
  for_each_index(shape, [&](const Numbers& index) {
    std::int64_t from = 0;
    bool inside = true;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t source = sources[d][at(index[d])];
      inside = inside && source >= 0;
      from += source * strides[d];
    }
    if (inside) std::copy(x.raw() + at(from) * width, x.raw() + at(from + 1) * width, to + k * width);
    ++k;
  });
  call.outputs[0] = std::move(*out);
  return {};
}

Status depth_space(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const std::int64_t b = call.attrs().integer("blocksize");
  if (x.rank() != 4 || b < 1 || b > 65536) return call.bad("expected rank 4 and a block size");
  const std::int64_t n = x.shape[0], c = x.shape[1], h = x.shape[2], w = x.shape[3];
  Shape split_, shape;
  Numbers perm;
  if (call.node.op == "SpaceToDepth") {
    if (h % b || w % b) return call.bad("a block size that does not divide the image");
    split_ = {n, c, h / b, b, w / b, b},
    perm = call.attrs().text("mode", "DCR") == "CRD" ? Numbers{0, 1, 3, 5, 2, 4} : Numbers{0, 3, 5, 1, 2, 4},
    shape = {n, c * b * b, h / b, w / b};
  } else {
    if (c % (b * b)) return call.bad("a block size that does not divide the channels");
    const bool crd = call.attrs().text("mode", "DCR") == "CRD";
    split_ = crd ? Shape{n, c / (b * b), b, b, h, w} : Shape{n, b, b, c / (b * b), h, w};
    perm = crd ? Numbers{0, 1, 4, 2, 5, 3} : Numbers{0, 3, 4, 1, 5, 2};
    shape = {n, c / (b * b), h * b, w * b};
  }
  View view;
  const auto strides = strides_of(split_);
  for (const std::int64_t p : perm) view.dims.push_back(split_[at(p)]), view.steps.push_back(strides[at(p)]);
  if (auto ok = onnx::give_view(call, 0, x, view); !ok) return ok;
  call.outputs[0].shape = std::move(shape);
  return {};
}

Status reverse_sequence(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto lengths = onnx::operand_numbers(call, 1);
  const auto time = normal_axis(call.attrs().integer("time_axis", 0), x.shape.size()),
             batch = normal_axis(call.attrs().integer("batch_axis", 1), x.shape.size());
  if (!lengths || !time || !batch || static_cast<std::int64_t>(lengths->size()) != x.shape[*batch])
    return call.bad("lengths or axes that do not fit");
  const auto strides = strides_of(x.shape);
  Numbers from;
  bool fits = true;
  for_each_index(x.shape, [&](const Numbers& index) {
    const std::int64_t length = (*lengths)[at(index[*batch])];
    fits = fits && length >= 0 && length <= x.shape[*time];
    std::int64_t place = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      place += strides[d] * (d == *time && index[d] < length ? length - 1 - index[d] : index[d]);
    from.push_back(place);
  });
  if (!fits) return call.bad("a length outside the axis");
  return onnx::give_moved(call, 0, x, x.shape, from);
}

Status trilu(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  if (x.rank() < 2) return call.bad("expected rank 2 or more");
  const bool upper = call.attrs().flag("upper", true);
  const std::int64_t k = call.has(1) ? call.in(1).integer(0) : 0;
  const std::int64_t rows = x.shape[x.shape.size() - 2], columns = x.shape.back();
  Numbers from(x.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    const std::int64_t distance = place % columns - place / columns % rows;
    from[i] = (upper ? distance >= k : distance <= k) ? place : -1;
  }
  return onnx::give_moved(call, 0, x, x.shape, from);
}

Status center_crop_pad(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto sizes = onnx::operand_numbers(call, 1);
  auto axes = onnx::list_of(call, "axes", 99);
  if (!axes) {
    axes.emplace(x.shape.size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!sizes || sizes->size() != axes->size()) return call.bad("sizes that do not fit");
  Shape shape = x.shape;
  Numbers shift(x.shape.size(), 0);  // of the operand's index from the result's
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = normal_axis((*axes)[i], x.shape.size());
    if (!axis || (*sizes)[i] < 0) return call.bad("an axis outside the tensor");
    const std::int64_t n = x.shape[*axis], m = (*sizes)[i];
    shape[*axis] = m;
    shift[*axis] = m <= n ? (n - m) / 2 : -((m - n) / 2);
  }
  const auto count = element_count(shape);
  if (!count || *count > (std::int64_t{1} << 32)) return call.unsupported("of this size");
  const auto strides = strides_of(x.shape);
  Numbers from;
  for_each_index(shape, [&](const Numbers& index) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < index.size() && place >= 0; ++d) {
      const std::int64_t i = index[d] + shift[d];
      place = i < 0 || i >= x.shape[d] ? -1 : place + i * strides[d];
    }
    from.push_back(place);
  });
  return onnx::give_moved(call, 0, x, shape, from);
}

constexpr KernelEntry entries[] = {
    {"CenterCropPad", center_crop_pad, 1},
    {"Concat", concat, all_operands},
    {"DepthToSpace", depth_space, 1},
    {"Expand", expand, 1},
    {"Flatten", flatten, 1},
    {"Pad", pad, 5},
    {"Reshape", reshape, 1},
    {"ReverseSequence", reverse_sequence, 1},
    {"Slice", slice, 1},
    {"SpaceToDepth", depth_space, 1},
    {"Split", split, 1},
    {"Squeeze", squeeze, 1},
    {"Tile", tile, 1},
    {"Transpose", transpose, 1},
    {"Trilu", trilu, 1},
    {"Unsqueeze", unsqueeze, 1},
    {"com.microsoft.Pad", pad, 5, false, "com.microsoft"},
    {"com.microsoft.Trilu", trilu, 1, false, "com.microsoft"},
};

}  // namespace

std::span<const KernelEntry> onnx_movement_kernels() { return entries; }

}  // namespace md
