// Padding, and what moves blocks of an image between space, depth and batch.
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

struct Padding {
  std::vector<std::int64_t> before, after;
};

/// Rows [before, after] of a [rank, 2] operand.
Result<Padding> paddings(KernelCall& call, std::size_t operand, std::size_t rank) {
  const auto numbers = index_operand(call, operand);
  if (!numbers || numbers->size() != 2 * rank)
    return call.bad("the paddings are not two integers a dimension");
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
    if (__builtin_add_overflow(shape[d], padding.before[d], &shape[d]) ||
        __builtin_add_overflow(shape[d], padding.after[d], &shape[d]))
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
    if (before > length - skip || after > length - skip)
      return call.bad("a padding longer than the dimension it mirrors");
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

/// Depth to space (`to_space`) and back: blocks of b x b pixels are b * b groups of channels.
Status depth_space(KernelCall& call, bool to_space) {
  if (auto ok = call.need(1); !ok) return ok;
  const Tensor& x = call.in(0);
  const std::int64_t b = call.attrs().integer("block_size");
  if (x.shape.size() != 4 || b < 1) return call.bad("needs rank 4 and a block size");
  const std::int64_t n = x.shape[0], h = x.shape[1], w = x.shape[2], c = x.shape[3];
  if (to_space ? c % (b * b) != 0 : h % b != 0 || w % b != 0)
    return call.bad("the block does not divide the dimension");
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
  for (std::size_t d = 0; d < m; ++d)
    all.before[d + 1] = inner->before[d], all.after[d + 1] = inner->after[d];
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
  for (std::size_t d = 1; d < shape.size(); ++d)
    view.dims.push_back(shape[d]), view.steps.push_back(steps[d] * (d <= m ? (*block)[d - 1] : 1));
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
  for (std::size_t d = m + 1; d < x.shape.size(); ++d)
    view.dims.push_back(x.shape[d]), view.steps.push_back(steps[d]), shape.push_back(x.shape[d]);
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

std::span<const KernelEntry> padding_kernels() {
  static const std::array rows = {
      KernelEntry{"PAD", pad, 1},
      KernelEntry{"PADV2", pad, 5},
      KernelEntry{"MIRROR_PAD", mirror_pad, 1},
      KernelEntry{"DEPTH_TO_SPACE", depth_to_space, 1},
      KernelEntry{"SPACE_TO_DEPTH", space_to_depth, 1},
      KernelEntry{"SPACE_TO_BATCH_ND", space_to_batch, 1},
      KernelEntry{"BATCH_TO_SPACE_ND", batch_to_space, 1},
  };
  return rows;
}

}  // namespace md
