// Operators that only move elements: reshape, transpose, tile, broadcast, concatenate, pad, reverse, space/depth/batch.
#include <array>
#include <cstring>

#include "lib/eval/strided.h"

namespace md {
namespace {

Status finish(KernelCall& call, Tensor out) {
  call.outputs[0] = std::move(out);
  return {};
}

Status reshape(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  std::vector<std::int64_t> dims;
  if (const auto operand = index_operand(call, 1)) dims = *operand;
  else if (const auto* attr = call.attrs().integers("new_shape")) dims = *attr;
  else dims = call.out_value().shape;
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == -1 && !open) open = d;
    else if (dims[d] < 0 || __builtin_mul_overflow(known, dims[d], &known)) return call.bad("the new shape has an impossible dimension");
  }
  if (open) dims[*open] = known ? static_cast<std::int64_t>(x.size()) / known : 0;
  if (element_count(dims).value_or(-1) != static_cast<std::int64_t>(x.size()))
    return call.bad(fmt::format("{} elements of {} do not fill {}", x.size(), shape_text(x.shape), shape_text(dims)));
  call.forward(0, x, std::move(dims));
  return {};
}

Status squeeze(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto* listed = call.attrs().integers("squeeze_dims");
  std::vector<bool> drop(x.shape.size(), false);
  if (listed && !listed->empty()) {
    for (const std::int64_t a : *listed) {
      const auto axis = normal_axis(a, x.shape.size());
      if (!axis || x.shape[*axis] != 1) return call.bad(fmt::format("axis {} of {} cannot be squeezed", a, shape_text(x.shape)));
      drop[*axis] = true;
    }
  } else {
    for (std::size_t d = 0; d < drop.size(); ++d) drop[d] = x.shape[d] == 1;
  }
  Shape shape;
  for (std::size_t d = 0; d < drop.size(); ++d)
    if (!drop[d]) shape.push_back(x.shape[d]);
  call.forward(0, x, std::move(shape));
  return {};
}

Status expand_dims(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const auto axis_operand = index_operand(call, 1);
  if (!axis_operand || axis_operand->size() != 1) return call.bad("the axis is not one integer");
  Shape shape = call.in(0).shape;
  const auto axis = normal_axis((*axis_operand)[0], shape.size() + 1);
  if (!axis) return call.bad(fmt::format("axis {} is out of range", (*axis_operand)[0]));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), 1);
  call.forward(0, call.in(0), std::move(shape));
  return {};
}

Status transpose(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto perm = index_operand(call, 1);
  if (!perm || perm->size() != x.shape.size()) return call.bad("the permutation's length is not the rank");
  const auto strides = strides_of(x.shape);
  std::vector<bool> seen(perm->size(), false);
  View view;
  for (const std::int64_t p : *perm) {
    const auto axis = normal_axis(p, x.shape.size());
    if (!axis || seen[*axis]) return call.bad("not a permutation");
    seen[*axis] = true;
    view.dims.push_back(x.shape[*axis]);
    view.steps.push_back(strides[*axis]);
  }
  auto out = moved_output(call, 0, x, view.dims);
  if (!out) return tl::make_unexpected(out.error());
  read_view(x, view, *out);
  return finish(call, std::move(*out));
}

Status tile(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto repeats = index_operand(call, 1);
  if (!repeats || repeats->size() != x.shape.size()) return call.bad("the number of multiples is not the rank");
  const auto strides = strides_of(x.shape);
  View view;
  Shape shape;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    std::int64_t length = 0;
    if ((*repeats)[d] < 0 || __builtin_mul_overflow((*repeats)[d], x.shape[d], &length)) return call.bad("an impossible multiple");
    view.dims.insert(view.dims.end(), {(*repeats)[d], x.shape[d]});
    view.steps.insert(view.steps.end(), {0, strides[d]});
    shape.push_back(length);
  }
  auto out = moved_output(call, 0, x, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  read_view(x, view, *out);
  return finish(call, std::move(*out));
}

Status broadcast_to(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto dims = index_operand(call, 1);
  if (!dims || dims->size() < x.shape.size()) return call.bad("the target has fewer dimensions than the operand");
  const auto strides = strides_of(x.shape);
  View view{0, *dims, std::vector<std::int64_t>(dims->size(), 0)};
  const std::size_t lead = dims->size() - x.shape.size();
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (x.shape[d] == (*dims)[lead + d]) view.steps[lead + d] = strides[d];
    else if (x.shape[d] != 1) return call.bad(fmt::format("{} does not broadcast to {}", shape_text(x.shape), shape_text(*dims)));
  }
  auto out = moved_output(call, 0, x, *dims);
  if (!out) return tl::make_unexpected(out.error());
  read_view(x, view, *out);
  return finish(call, std::move(*out));
}

/// Quantized concatenation brings every operand to the output's scale.
bool same_quantization(const Tensor& a, const Tensor& b) {
  if (!a.quantization || !b.quantization) return true;
  return a.quantization->scale == b.quantization->scale && a.quantization->zero_point == b.quantization->zero_point;
}

Tensor requantized(const Tensor& x, const Tensor& like) {
  Tensor out = Tensor::make(x.dtype, x.shape);
  out.quantization = like.quantization;
  const float from_scale = x.quantization->scale[0], to_scale = like.quantization->scale[0];
  const float from_zero = static_cast<float>(x.quantization->zero_point.empty() ? 0 : x.quantization->zero_point[0]);
  const float to_zero = static_cast<float>(like.quantization->zero_point.empty() ? 0 : like.quantization->zero_point[0]);
  const float scale = from_scale * (1.0f / to_scale), bias = -from_zero * scale;
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    const auto in = x.data<T>();
    auto to = out.mutable_data<T>();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double v = static_cast<double>(std::round(static_cast<float>(in[i]) * scale + bias) + to_zero);
      to[i] = static_cast<T>(std::clamp(v, static_cast<double>(std::numeric_limits<T>::lowest()), static_cast<double>(std::numeric_limits<T>::max())));
    }
  });
  return out;
}

Status concatenation(KernelCall& call) {
  if (auto ok = call.need(call.count() ? call.count() : 1); !ok) return ok;
  if (const auto f = fused_activation(call.attrs()); !f || *f != Activation::none) return call.unsupported("with a fused activation");
  Shape shape = call.in(0).shape;
  const auto axis = normal_axis(call.attrs().integer("axis"), shape.size());
  if (!axis) return call.bad("the axis is out of range");
  shape[*axis] = 0;
  for (std::size_t k = 0; k < call.count(); ++k) {
    Shape rest = call.in(k).shape;
    if (rest.size() != shape.size()) return call.bad("operands differ in rank");
    shape[*axis] += rest[*axis];
    rest[*axis] = shape[*axis];
    if (rest != shape) return call.bad(fmt::format("operand {} of shape {} does not fit", k, shape_text(call.in(k).shape)));
  }
  auto out = moved_output(call, 0, call.in(0), shape);
  if (!out) return tl::make_unexpected(out.error());
  View view = whole(shape);
  for (std::size_t k = 0; k < call.count(); ++k) {
    const Tensor& x = call.in(k);
    if (x.store() != out->store()) return call.bad("operands differ in type");
    view.dims[*axis] = x.shape[*axis];
    if (x.quantization && out->quantization && !same_quantization(x, *out)) write_view(requantized(x, *out), *out, view);
    else write_view(x, *out, view);
    view.base += x.shape[*axis] * view.steps[*axis];
  }
  return finish(call, std::move(*out));
}

Status pack(KernelCall& call) {
  if (auto ok = call.need(call.count() ? call.count() : 1); !ok) return ok;
  Shape shape = call.in(0).shape;
  const auto axis = normal_axis(call.attrs().integer("axis"), shape.size() + 1);
  if (!axis) return call.bad("the axis is out of range");
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), static_cast<std::int64_t>(call.count()));
  auto out = moved_output(call, 0, call.in(0), shape);
  if (!out) return tl::make_unexpected(out.error());
  View view = whole(shape);
  view.dims[*axis] = 1;
  for (std::size_t k = 0; k < call.count(); ++k) {
    if (call.in(k).shape != call.in(0).shape || call.in(k).store() != out->store()) return call.bad("operands differ");
    write_view(call.in(k), *out, view);
    view.base += view.steps[*axis];
  }
  return finish(call, std::move(*out));
}

Status unpack(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto axis = normal_axis(call.attrs().integer("axis"), x.shape.size());
  if (!axis || x.shape[*axis] != static_cast<std::int64_t>(call.outputs.size())) return call.bad("the axis does not have one slice an output");
  View view = whole(x.shape);
  view.dims[*axis] = 1;
  Shape shape = x.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    auto out = moved_output(call, k, x, shape);
    if (!out) return tl::make_unexpected(out.error());
    read_view(x, view, *out);
    call.outputs[k] = std::move(*out);
    view.base += view.steps[*axis];
  }
  return {};
}

struct Padding {
  std::vector<std::int64_t> before, after;
};

/// Rows [before, after] of a [rank, 2] operand.
Result<Padding> paddings(KernelCall& call, std::size_t operand, std::size_t rank) {
  const auto numbers = index_operand(call, operand);
  if (!numbers || numbers->size() != 2 * rank) return call.bad("the paddings are not two integers a dimension");
  Padding padding;
  for (std::size_t d = 0; d < rank; ++d) {
    if ((*numbers)[2 * d] < 0 || (*numbers)[2 * d + 1] < 0) return call.bad("a negative padding");
    padding.before.push_back((*numbers)[2 * d]);
    padding.after.push_back((*numbers)[2 * d + 1]);
  }
  return padding;
}

Result<Tensor> padded(KernelCall& call, const Tensor& x, const Padding& padding, const Tensor* value) {
  Shape shape = x.shape;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (__builtin_add_overflow(shape[d], padding.before[d], &shape[d]) || __builtin_add_overflow(shape[d], padding.after[d], &shape[d]))
      return call.bad("a padding is too large");
  auto out = moved_output(call, 0, x, shape);
  if (!out) return out;
  if (value && value->size() == 1 && value->element_bytes() == out->element_bytes()) {
    fill(*out, value->raw());
  } else if (value) {
    return call.bad("the padding value's type is not the operand's");
  } else {
    // A quantized operand is padded with its zero point, i.e. with real zero.
    const Value& from = call.graph.value(call.node.inputs[0]);
    std::int64_t zero = 0;
    if (from.quantization && !from.quantization->zero_point.empty()) zero = from.quantization->zero_point[0];
    if (call.carriers) zero = carrier_code(from.dtype, static_cast<double>(zero));
    with_store(out->store(), [&](auto z) {
      using T = decltype(z);
      auto all = out->template mutable_data<T>();
      std::fill(all.begin(), all.end(), static_cast<T>(zero));
    });
  }
  View view = whole(shape);
  view.dims = x.shape;
  for (std::size_t d = 0; d < shape.size(); ++d) view.base += padding.before[d] * view.steps[d];
  write_view(x, *out, view);
  return out;
}

Status pad(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const auto padding = paddings(call, 1, call.in(0).shape.size());
  if (!padding) return tl::make_unexpected(padding.error());
  auto out = padded(call, call.in(0), *padding, call.has(2) ? &call.in(2) : nullptr);
  if (!out) return tl::make_unexpected(out.error());
  return finish(call, std::move(*out));
}

Status mirror_pad(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const auto padding = paddings(call, 1, call.in(0).shape.size());
  if (!padding) return tl::make_unexpected(padding.error());
  // REFLECT leaves the border element out, SYMMETRIC repeats it.
  const std::int64_t skip = call.attrs().text("mode", "REFLECT") == "SYMMETRIC" ? 0 : 1;
  Tensor current = call.in(0);
  for (std::size_t d = 0; d < padding->before.size(); ++d) {
    const std::int64_t before = padding->before[d], after = padding->after[d], length = current.shape[d];
    if (before == 0 && after == 0) continue;
    if (before > length - skip || after > length - skip) return call.bad("a padding longer than the dimension it mirrors");
    Shape shape = current.shape;
    shape[d] = length + before + after;
    auto out = moved_output(call, 0, current, shape);
    if (!out) return tl::make_unexpected(out.error());
    const auto copy = [&](std::int64_t count, std::int64_t from, std::int64_t step, std::int64_t to) {
      if (count == 0) return Status{};
      View source = whole(current.shape), target = whole(shape);
      source.dims[d] = target.dims[d] = count;
      source.base = from * source.steps[d];
      source.steps[d] *= step;
      target.base = to * target.steps[d];
      auto part = call.make(call.carriers ? DType::i64 : current.dtype, source.dims);
      if (!part) return Status(tl::make_unexpected(part.error()));
      read_view(current, source, *part);
      write_view(*part, *out, target);
      return Status{};
    };
    if (auto ok = copy(length, 0, 1, before); !ok) return ok;
    if (auto ok = copy(before, before - 1 + skip, -1, 0); !ok) return ok;
    if (auto ok = copy(after, length - 1 - skip, -1, before + length); !ok) return ok;
    current = std::move(*out);
  }
  call.forward(0, current, current.shape);
  return {};
}

Status reverse(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto axes = index_operand(call, 1);
  if (!axes) return call.bad("the axes are not integers");
  View view = whole(x.shape);
  for (const std::int64_t a : *axes) {
    const auto axis = normal_axis(a, x.shape.size());
    if (!axis) return call.bad("an axis is out of range");
    view.base += view.steps[*axis] * (x.shape[*axis] - 1);
    view.steps[*axis] = -view.steps[*axis];
  }
  if (x.size() == 0) view.base = 0;
  auto out = moved_output(call, 0, x, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  read_view(x, view, *out);
  return finish(call, std::move(*out));
}

/// Depth to space (`to_space`) and back: blocks of b x b pixels are b * b groups of channels.
Status depth_space(KernelCall& call, bool to_space) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const std::int64_t b = call.attrs().integer("block_size");
  if (x.shape.size() != 4 || b < 1) return call.bad("needs rank 4 and a block size");
  const std::int64_t n = x.shape[0], h = x.shape[1], w = x.shape[2], c = x.shape[3];
  if (to_space ? c % (b * b) != 0 : h % b != 0 || w % b != 0) return call.bad("the block does not divide the dimension");
  View view;
  Shape shape;
  if (to_space) {
    const std::int64_t d = c / (b * b);
    shape = {n, h * b, w * b, d};
    view.dims = {n, h, b, w, b, d};
    view.steps = {h * w * c, w * c, b * d, c, d, 1};
  } else {
    shape = {n, h / b, w / b, c * b * b};
    view.dims = {n, h / b, w / b, b, b, c};
    view.steps = {h * w * c, b * w * c, b * c, w * c, c, 1};
  }
  auto out = moved_output(call, 0, x, std::move(shape));
  if (!out) return tl::make_unexpected(out.error());
  read_view(x, view, *out);
  return finish(call, std::move(*out));
}
Status depth_to_space(KernelCall& call) { return depth_space(call, true); }
Status space_to_depth(KernelCall& call) { return depth_space(call, false); }

Status space_to_batch(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto block = index_operand(call, 1);
  if (!block || x.shape.size() < block->size() + 1) return call.bad("the block has too many dimensions");
  const std::size_t m = block->size();
  auto inner = paddings(call, 2, m);
  if (!inner) return tl::make_unexpected(inner.error());
  Padding all{std::vector<std::int64_t>(x.shape.size(), 0), std::vector<std::int64_t>(x.shape.size(), 0)};
  for (std::size_t d = 0; d < m; ++d) all.before[d + 1] = inner->before[d], all.after[d + 1] = inner->after[d];
  auto big = padded(call, x, all, nullptr);
  if (!big) return tl::make_unexpected(big.error());
  const auto steps = strides_of(big->shape);
  View view;
  Shape shape = big->shape;
  for (std::size_t d = 0; d < m; ++d) {
    const std::int64_t b = (*block)[d];
    if (b < 1 || big->shape[d + 1] % b) return call.bad("the block does not divide the padded dimension");
    view.dims.push_back(b), view.steps.push_back(steps[d + 1]);
    shape[0] *= b, shape[d + 1] /= b;
  }
  view.dims.push_back(big->shape[0]), view.steps.push_back(steps[0]);
  for (std::size_t d = 1; d < shape.size(); ++d) view.dims.push_back(shape[d]), view.steps.push_back(steps[d] * (d <= m ? (*block)[d - 1] : 1));
  auto out = moved_output(call, 0, x, shape);
  if (!out) return tl::make_unexpected(out.error());
  read_view(*big, view, *out);
  return finish(call, std::move(*out));
}

Status batch_to_space(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto block = index_operand(call, 1);
  if (!block || x.shape.size() < block->size() + 1) return call.bad("the block has too many dimensions");
  const std::size_t m = block->size();
  const auto crops = paddings(call, 2, m);
  if (!crops) return tl::make_unexpected(crops.error());
  std::int64_t blocks = 1;
  for (const std::int64_t b : *block) {
    if (b < 1 || blocks > x.shape[0]) return call.bad("an impossible block");
    blocks *= b;
  }
  if (x.shape[0] % blocks) return call.bad("the block does not divide the batch");
  const auto steps = strides_of(x.shape);
  const std::int64_t batch = x.shape[0] / blocks;
  View view;
  Shape shape = {batch};
  view.dims.push_back(batch), view.steps.push_back(steps[0]);
  std::int64_t group = blocks * batch * steps[0];
  for (std::size_t d = 0; d < m; ++d) {
    group /= (*block)[d];
    view.dims.insert(view.dims.end(), {x.shape[d + 1], (*block)[d]});
    view.steps.insert(view.steps.end(), {steps[d + 1], group});
    shape.push_back(x.shape[d + 1] * (*block)[d]);
  }
  for (std::size_t d = m + 1; d < x.shape.size(); ++d) view.dims.push_back(x.shape[d]), view.steps.push_back(steps[d]), shape.push_back(x.shape[d]);
  auto big = call.make(x.dtype, shape);
  if (!big) return tl::make_unexpected(big.error());
  read_view(x, view, *big);
  View crop = whole(shape);
  for (std::size_t d = 0; d < m; ++d) {
    shape[d + 1] -= crops->before[d] + crops->after[d];
    if (shape[d + 1] < 0) return call.bad("crops more than there is");
    crop.base += crops->before[d] * crop.steps[d + 1];
  }
  crop.dims = shape;
  auto out = moved_output(call, 0, x, shape);
  if (!out) return tl::make_unexpected(out.error());
  if (out->size()) read_view(*big, crop, *out);
  return finish(call, std::move(*out));
}

}  // namespace

std::span<const KernelEntry> movement_kernels() {
  static const std::array rows = {
      KernelEntry{"RESHAPE", reshape, 1},
      KernelEntry{"SQUEEZE", squeeze, 1},
      KernelEntry{"EXPAND_DIMS", expand_dims, 1},
      KernelEntry{"TRANSPOSE", transpose, 1},
      KernelEntry{"TILE", tile, 1},
      KernelEntry{"BROADCAST_TO", broadcast_to, 1},
      KernelEntry{"CONCATENATION", concatenation, all_operands},
      KernelEntry{"PACK", pack, all_operands},
      KernelEntry{"UNPACK", unpack, 1},
      KernelEntry{"PAD", pad, 1},
      KernelEntry{"PADV2", pad, 5},
      KernelEntry{"MIRROR_PAD", mirror_pad, 1},
      KernelEntry{"REVERSE_V2", reverse, 1},
      KernelEntry{"DEPTH_TO_SPACE", depth_to_space, 1},
      KernelEntry{"SPACE_TO_DEPTH", space_to_depth, 1},
      KernelEntry{"SPACE_TO_BATCH_ND", space_to_batch, 1},
      KernelEntry{"BATCH_TO_SPACE_ND", batch_to_space, 1},
  };
  return rows;
}

}  // namespace md
