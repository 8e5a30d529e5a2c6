// SLICE, STRIDED_SLICE, SPLIT, SPLIT_V, DYNAMIC_UPDATE_SLICE.
#include <array>
#include <cstring>

#include "lib/eval/primitives/strided.h"
#include "lib/eval/primitives/wrap.h"
#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

Status emit(KernelCall& call, const Tensor& x, const View& view, Shape shape) {
  auto out = moved_output(call, 0, x, view.dims);
  if (!out) return tl::make_unexpected(out.error());
  if (out->size()) read_view(x, view, *out);
  out->shape = std::move(shape);
  call.outputs[0] = std::move(*out);
  return {};
}

Status slice(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto begin = index_operand(call, 1), size = index_operand(call, 2);
  if (!begin || !size || begin->size() != x.shape.size() || size->size() != x.shape.size())
    return call.bad("begin and size do not have one integer a dimension");
  View view = whole(x.shape);
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const std::int64_t b = (*begin)[d], n = (*size)[d] == -1 ? x.shape[d] - b : (*size)[d];
    if (b < 0 || n < 0 || b > x.shape[d] || n > x.shape[d] - b)
      return call.bad(fmt::format("takes [{}, +{}) of dimension {}, which has {}", b, n, d, x.shape[d]));
    view.base += b * view.steps[d];
    view.dims[d] = n;
  }
  return emit(call, x, view, view.dims);
}

/// One axis of a strided slice: first element, number of elements, step.
struct Range {
  std::int64_t start = 0, count = 0, step = 1;
};

Range resolve(std::int64_t begin, std::int64_t end, std::int64_t step, bool open_begin, bool open_end,
              std::int64_t length) {
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? length : length - 1;
  const auto clamped = [&](std::int64_t i) { return std::clamp(i < 0 ? i + length : i, low, high); };
  const std::int64_t first = open_begin ? (step > 0 ? low : high) : clamped(begin);
  const std::int64_t last = open_end ? (step > 0 ? high : low) : clamped(end);
  const std::int64_t span = step > 0 ? last - first : first - last;
  if (span <= 0) return {};
  const std::int64_t stride = step > 0 ? step : step < -span ? span : -step;
  const std::int64_t count = (span - 1) / stride + 1;
  return {first, count, count > 1 ? step : 1};  // the step of a single element could overflow the offsets
}

Status strided_slice(KernelCall& call) {
  if (auto ok = call.need(4); !ok) return ok;
  const Tensor& x = call.in(0);
  const auto begin = index_operand(call, 1), end = index_operand(call, 2), step = index_operand(call, 3);
  if (!begin || !end || !step || begin->size() != end->size() || begin->size() != step->size())
    return call.bad("begin, end and strides differ in length");
  const Attributes& a = call.attrs();
  const std::int64_t begin_mask = a.integer("begin_mask"), end_mask = a.integer("end_mask"),
                     ellipsis_mask = a.integer("ellipsis_mask");
  const std::int64_t new_axis_mask = a.integer("new_axis_mask"), shrink_mask = a.integer("shrink_axis_mask");
  const bool offset = a.flag("offset");
  const auto bit = [](std::int64_t mask, std::size_t i) { return i < 63 && ((mask >> i) & 1) != 0; };
  // One ellipsis stands for all dimensions that nothing else names; several would be ambiguous.
  std::size_t consumed = 0, ellipses = 0;
  for (std::size_t i = 0; i < begin->size(); ++i) {
    ellipses += bit(ellipsis_mask, i) ? 1 : 0;
    consumed += bit(ellipsis_mask, i) || bit(new_axis_mask, i) ? 0 : 1;
  }
  if (ellipses > 1) return call.bad("has several ellipses, expected one at most");
  if (consumed > x.shape.size()) return call.bad("slices more dimensions than there are");
  const std::size_t untouched = x.shape.size() - consumed;
  const auto strides = strides_of(x.shape);
  View view;
  Shape shape;
  std::size_t d = 0;
  const auto keep_all = [&](std::size_t count) {
    for (; count > 0; --count, ++d)
      view.dims.push_back(x.shape[d]), view.steps.push_back(strides[d]), shape.push_back(x.shape[d]);
  };
  for (std::size_t i = 0; i < begin->size(); ++i) {
    if (bit(ellipsis_mask, i)) {
      keep_all(untouched);
    } else if (bit(new_axis_mask, i)) {
      shape.push_back(1);
    } else {
      const std::int64_t s = (*step)[i];
      if (s == 0) return call.bad("a stride of zero");
      const std::int64_t length = x.shape[d];
      if (bit(shrink_mask, i)) {
        const std::int64_t at = (*begin)[i] < 0 ? (*begin)[i] + length : (*begin)[i];
        if (at < 0 || at >= length)
          return call.bad(fmt::format("index {} is outside dimension {} of {}", (*begin)[i], d, length));
        view.base += at * strides[d];
      } else {
        const std::int64_t last = offset ? plus((*begin)[i], (*end)[i]) : (*end)[i];
        const Range r = resolve((*begin)[i], last, s, bit(begin_mask, i), bit(end_mask, i), length);
        view.base += r.count ? r.start * strides[d] : 0;
        view.dims.push_back(r.count), view.steps.push_back(strides[d] * r.step), shape.push_back(r.count);
      }
      ++d;
    }
  }
  keep_all(x.shape.size() - d);
  return emit(call, x, view, std::move(shape));
}

Status split_into(KernelCall& call, const Tensor& x, std::size_t axis, std::span<const std::int64_t> sizes) {
  View view = whole(x.shape);
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    view.dims[axis] = sizes[k];
    auto out = moved_output(call, k, x, view.dims);
    if (!out) return tl::make_unexpected(out.error());
    read_view(x, view, *out);
    call.outputs[k] = std::move(*out);
    view.base += sizes[k] * view.steps[axis];
  }
  return {};
}

Status split(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const Tensor& x = call.in(1);
  const auto at = index_operand(call, 0);
  const auto axis = at && at->size() == 1 ? normal_axis((*at)[0], x.shape.size()) : std::nullopt;
  const auto n = static_cast<std::int64_t>(call.outputs.size());
  if (!axis || n == 0 || x.shape[*axis] % n) return call.bad("the axis does not split evenly");
  const std::vector<std::int64_t> sizes(call.outputs.size(), x.shape[*axis] / n);
  return split_into(call, x, *axis, sizes);
}

Status split_v(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor& x = call.in(0);
  auto sizes = index_operand(call, 1);
  const auto at = index_operand(call, 2);
  const auto axis = at && at->size() == 1 ? normal_axis((*at)[0], x.shape.size()) : std::nullopt;
  if (!axis || !sizes || sizes->size() != call.outputs.size())
    return call.bad("the sizes are not one an output");
  std::int64_t sum = 0;
  std::optional<std::size_t> open;
  for (std::size_t k = 0; k < sizes->size(); ++k) {
    if ((*sizes)[k] == -1 && !open)
      open = k;
    else if ((*sizes)[k] < 0 || (*sizes)[k] > x.shape[*axis])
      return call.bad("an impossible size");
    else
      sum += (*sizes)[k];
  }
  if (open) (*sizes)[*open] = x.shape[*axis] - sum, sum = x.shape[*axis];
  if (sum != x.shape[*axis] || (open && (*sizes)[*open] < 0))
    return call.bad("the sizes do not add up to the dimension");
  return split_into(call, x, *axis, *sizes);
}

Status dynamic_update_slice(KernelCall& call) {
  if (auto ok = call.need(3); !ok) return ok;
  const Tensor& x = call.in(0);
  const Tensor& update = call.in(1);
  const auto start = index_operand(call, 2);
  if (!start || start->size() != x.shape.size() || update.shape.size() != x.shape.size() ||
      update.store() != x.store())
    return call.bad("operands do not fit");
  auto out = moved_output(call, 0, x, x.shape);
  if (!out) return tl::make_unexpected(out.error());
  if (x.bytes()) std::memcpy(out->mutable_raw(), x.raw(), x.bytes());
  View view = whole(x.shape);
  view.dims = update.shape;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (update.shape[d] > x.shape[d]) return call.bad("the update is larger than the operand");
    view.base += std::clamp<std::int64_t>((*start)[d], 0, x.shape[d] - update.shape[d]) * view.steps[d];
  }
  write_view(update, *out, view);
  call.outputs[0] = std::move(*out);
  return {};
}

}  // namespace

std::span<const KernelEntry> slicing_kernels() {
  static const std::array rows = {
      KernelEntry{"SLICE", slice, 1},
      KernelEntry{"STRIDED_SLICE", strided_slice, 1},
      KernelEntry{"SPLIT", split, 2},
      KernelEntry{"SPLIT_V", split_v, 1},
      KernelEntry{"DYNAMIC_UPDATE_SLICE", dynamic_update_slice, 3},
  };
  return rows;
}

}  // namespace md
