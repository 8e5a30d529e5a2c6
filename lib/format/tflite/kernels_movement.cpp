// Operators that only move elements: reshape, transpose, tile, broadcast, concatenate, reverse.
#include <array>
#include <cstring>

#include "lib/eval/primitives/strided.h"
#include "lib/format/tflite/kernels.h"

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
  if (const auto operand = index_operand(call, 1))
    dims = *operand;
  else if (const auto* attr = call.attrs().integers("new_shape"))
    dims = *attr;
  else
    dims = call.out_value().shape;
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == -1 && !open)
      open = d;
    else if (dims[d] < 0 || __builtin_mul_overflow(known, dims[d], &known))
      return call.bad("the new shape has an impossible dimension");
  }
  if (open) dims[*open] = known ? static_cast<std::int64_t>(x.size()) / known : 0;
  if (element_count(dims).value_or(-1) != static_cast<std::int64_t>(x.size()))
    return call.bad(
        fmt::format("{} elements of {} do not fill {}", x.size(), shape_text(x.shape), shape_text(dims)));
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
      if (!axis || x.shape[*axis] != 1)
        return call.bad(fmt::format("axis {} of {} cannot be squeezed", a, shape_text(x.shape)));
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
  if (!repeats || repeats->size() != x.shape.size())
    return call.bad("the number of multiples is not the rank");
  const auto strides = strides_of(x.shape);
  View view;
  Shape shape;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    std::int64_t length = 0;
    if ((*repeats)[d] < 0 || __builtin_mul_overflow((*repeats)[d], x.shape[d], &length))
      return call.bad("an impossible multiple");
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
  if (!dims || dims->size() < x.shape.size())
    return call.bad("the target has fewer dimensions than the operand");
  const auto strides = strides_of(x.shape);
  View view{0, *dims, std::vector<std::int64_t>(dims->size(), 0)};
  const std::size_t lead = dims->size() - x.shape.size();
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (x.shape[d] == (*dims)[lead + d])
      view.steps[lead + d] = strides[d];
    else if (x.shape[d] != 1)
      return call.bad(fmt::format("{} does not broadcast to {}", shape_text(x.shape), shape_text(*dims)));
  }
  auto out = moved_output(call, 0, x, *dims);
  if (!out) return tl::make_unexpected(out.error());
  read_view(x, view, *out);
  return finish(call, std::move(*out));
}

/// Quantized concatenation brings every operand to the output's scale.
bool same_quantization(const Tensor& a, const Tensor& b) {
  if (!a.quantization || !b.quantization) return true;
  return a.quantization->scale == b.quantization->scale &&
         a.quantization->zero_point == b.quantization->zero_point;
}

Tensor requantized(const Tensor& x, const Tensor& like) {
  Tensor out = Tensor::make(x.dtype, x.shape);
  out.quantization = like.quantization;
  const float from_scale = x.quantization->scale[0], to_scale = like.quantization->scale[0];
  const float from_zero =
      static_cast<float>(x.quantization->zero_point.empty() ? 0 : x.quantization->zero_point[0]);
  const float to_zero =
      static_cast<float>(like.quantization->zero_point.empty() ? 0 : like.quantization->zero_point[0]);
  const float scale = from_scale * (1.0f / to_scale), bias = -from_zero * scale;
  with_store(x.store(), [&](auto zero) {
    using T = decltype(zero);
    const auto in = x.data<T>();
    auto to = out.mutable_data<T>();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double v = static_cast<double>(std::round(static_cast<float>(in[i]) * scale + bias) + to_zero);
      to[i] = static_cast<T>(std::clamp(v, static_cast<double>(std::numeric_limits<T>::lowest()),
                                        static_cast<double>(std::numeric_limits<T>::max())));
    }
  });
  return out;
}

Status concatenation(KernelCall& call) {
  if (auto ok = call.need(call.count() ? call.count() : 1); !ok) return ok;
  if (const auto f = fused_activation(call.attrs()); !f || *f != Activation::none)
    return call.unsupported("with a fused activation");
  Shape shape = call.in(0).shape;
  const auto axis = normal_axis(call.attrs().integer("axis"), shape.size());
  if (!axis) return call.bad("the axis is out of range");
  shape[*axis] = 0;
  for (std::size_t k = 0; k < call.count(); ++k) {
    Shape rest = call.in(k).shape;
    if (rest.size() != shape.size()) return call.bad("operands differ in rank");
    shape[*axis] += rest[*axis];
    rest[*axis] = shape[*axis];
    if (rest != shape)
      return call.bad(fmt::format("operand {} of shape {} does not fit", k, shape_text(call.in(k).shape)));
  }
  auto out = moved_output(call, 0, call.in(0), shape);
  if (!out) return tl::make_unexpected(out.error());
  View view = whole(shape);
  for (std::size_t k = 0; k < call.count(); ++k) {
    const Tensor& x = call.in(k);
    if (x.store() != out->store()) return call.bad("operands differ in type");
    view.dims[*axis] = x.shape[*axis];
    if (x.quantization && out->quantization && !same_quantization(x, *out))
      write_view(requantized(x, *out), *out, view);
    else
      write_view(x, *out, view);
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
    if (call.in(k).shape != call.in(0).shape || call.in(k).store() != out->store())
      return call.bad("operands differ");
    write_view(call.in(k), *out, view);
    view.base += view.steps[*axis];
  }
  return finish(call, std::move(*out));
}

Status unpack(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto axis = normal_axis(call.attrs().integer("axis"), x.shape.size());
  if (!axis || x.shape[*axis] != static_cast<std::int64_t>(call.outputs.size()))
    return call.bad("the axis does not have one slice an output");
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
      KernelEntry{"REVERSE_V2", reverse, 1},
  };
  return rows;
}

}  // namespace md
