// SLICE and STRIDED_SLICE: the delegate computes the extents itself and compares them with the output.
#include <array>

#include <fmt/format.h>

#include "lib/graph/encode.h"
#include "lib/runtime/litert/bhwc.h"
#include "lib/target/check.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;
using Axes = std::array<std::int64_t, 4>;  // batch, height, width, channels

Axes axes_of(const Bhwc& shape) { return {shape.b, shape.h, shape.w, shape.c}; }

/// Which of the four axes the dimensions of a tensor of rank 1 to 4 are.
std::vector<std::size_t> axis_map(std::size_t rank) {
  switch (rank) {
    case 1:
      return {0};
    case 2:
      return {0, 3};
    case 3:
      return {0, 2, 3};
    default:
      return {0, 1, 2, 3};
  }
}

Result_ slice_extents(const CheckContext& c, const CheckSpec& spec) {
  const Value *input = c.input(0), *starts = c.input(1), *sizes = c.input(2), *output = c.output(0);
  if (!input || !starts || !sizes || !output) return {};
  const auto first = decode_integers(*starts), count = decode_integers(*sizes);
  if (!first || !count) return {};
  if (first->size() != count->size())
    return Fault{fmt::format("The dimensionality of `starts` ({}D) must match `sizes` ({}D).", first->size(),
                             count->size()),
                 none_id};
  const int rank = input->rank();
  if (rank > 4 || rank == 0) return Fault{spec.text("rank_text"), none_id};
  std::vector<std::size_t> map = axis_map(static_cast<std::size_t>(rank));
  if (rank == 4 && first->size() == 3) map = {1, 2, 3};
  if (map.size() != first->size())
    return Fault{fmt::format("Slicing starts count must be {} for {}d input",
                             rank == 4 ? "3 or 4" : fmt::format("{}", rank), rank),
                 none_id};
  const Axes in = axes_of(bhwc(input->shape)), out = axes_of(bhwc(output->shape));
  Axes begin{}, size = in;
  for (std::size_t i = 0; i < map.size(); ++i) begin[map[i]] = (*first)[i], size[map[i]] = (*count)[i];
  static constexpr std::array<std::string_view, 4> texts = {
      "Output batch don't match", "Output height doesn't match", "Output width doesn't match",
      "Output channels don't match"};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (size[axis] == -1) size[axis] = in[axis] - begin[axis];
    std::int64_t end = begin[axis] + size[axis];
    if (end < 0) end += in[axis];
    if (end - begin[axis] != out[axis]) return Fault{std::string(texts[axis]), none_id};
  }
  return {};
}

std::int64_t mask_bits(std::int64_t mask, const std::vector<std::size_t>& map) {
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < map.size(); ++i)
    if (mask >> i & 1) bits |= std::int64_t{1} << map[i];
  return bits;
}

Result_ strided_slice_extents(const CheckContext& c, const CheckSpec& spec) {
  const Value *input = c.input(0), *output = c.output(0);
  if (!input || !output || c.input_count() < 4) return {};
  std::array<std::vector<std::int64_t>, 3> lists;  // begin, end, strides
  for (std::size_t i = 0; i < 3; ++i) {
    const Value* value = c.input(i + 1);
    const auto numbers = value ? decode_integers(*value) : std::nullopt;
    if (!numbers) return {};
    lists[i] = *numbers;
  }
  const auto rank = static_cast<std::size_t>(input->rank());
  const bool with_batch = lists[0].size() == rank, without_batch = lists[0].size() + 1 == rank;
  if (!with_batch && !without_batch) return Fault{"STRIDED_SLICE input/params dimensions mismatch.", none_id};
  const Axes in = axes_of(bhwc(input->shape)), out = axes_of(bhwc(output->shape));
  // Beyond rank 4 the runtime reads no list at all: the strides stay 1 and the whole input is the result.
  std::vector<std::size_t> map = rank <= 4 ? axis_map(rank) : std::vector<std::size_t>{};
  const std::vector<std::size_t> mask_map = axis_map(std::min<std::size_t>(rank, 4));
  if (without_batch && rank <= 4) {
    static const std::vector<std::size_t> hwc = {1, 2, 3};
    map.assign(hwc.end() - static_cast<std::ptrdiff_t>(lists[0].size()), hwc.end());
  }
  Axes begin{}, end = in, stride = {1, 1, 1, 1};
  for (std::size_t i = 0; i < map.size(); ++i) {
    begin[map[i]] = lists[0][i];
    if (i < lists[1].size()) end[map[i]] = lists[1][i];
    if (i < lists[2].size()) stride[map[i]] = lists[2][i];
  }
  const std::int64_t begin_mask = mask_bits(c.node.attrs.integer("begin_mask"), mask_map),
                     end_mask = mask_bits(c.node.attrs.integer("end_mask"), mask_map);
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (end[axis] < 0) end[axis] += in[axis];
    if (begin[axis] < 0) begin[axis] += in[axis];
    if (begin_mask >> axis & 1) begin[axis] = 0;
    if (end_mask >> axis & 1) end[axis] = in[axis];
  }
  for (const std::int64_t step : stride)
    if (step == 0) return Fault{"stride values must be non-zero", none_id};
  for (const std::int64_t step : stride)
    if (step < 0) return Fault{spec.text("reverse_text", "Reverse slices are not supported."), none_id};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const std::int64_t length = end[axis] - begin[axis];
    const std::int64_t steps = length / stride[axis] + (length % stride[axis] == 0 ? 0 : 1);
    if (steps != out[axis]) return Fault{spec.text("text", "Output shape mismatch"), none_id};
  }
  return {};
}

/// The masks that the delegate does not know, each with its text.
Result_ slice_masks(const CheckContext& c, const CheckSpec& spec) {
  for (const std::string_view mask : {"ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})
    if (c.node.attrs.integer(mask) != 0) return Fault{spec.text(mask), none_id};
  if (c.input_count() < 4) return Fault{"STRIDED_SLICE requires 4 inputs.", none_id};
  const Value *input = c.input(0), *begin = c.input(1);
  if (!input || !begin || begin->shape.empty() || !spec.parameters.flag("lengths")) return {};
  if (input->rank() == begin->shape[0] + 1 || input->rank() == begin->shape[0]) return {};
  return Fault{"STRIDED_SLICE input/params dimensions mismatch.", none_id};
}

/// DYNAMIC_UPDATE_SLICE: the update fits into the operand.
Result_ update_fits(const CheckContext& c, const CheckSpec&) {
  const Value *operand = c.input(0), *update = c.input(1);
  if (!operand || !update) return {};
  for (const auto& [value, name] : {std::pair{operand, "operand"}, std::pair{update, "update"},
                                    std::pair{c.input(2), "start_indices"}, std::pair{c.output(0), "output"}})
    if (value && (value->rank() < 1 || value->rank() > 4))
      return Fault{fmt::format("{} dims must be 1D-4D.", name), none_id};
  const Axes whole = axes_of(bhwc(operand->shape)), part = axes_of(bhwc(update->shape));
  for (std::size_t axis = 0; axis < 4; ++axis)
    if (part[axis] > whole[axis])
      return Fault{
          fmt::format(
              "Updated_slice shape must be less or equal to the array to update, but they are updated_slice: "
              "[{}{}{}{}], array_to_update: [{}{}{}{}]",
              part[0], part[1], part[2], part[3], whole[0], whole[1], whole[2], whole[3]),
          none_id};
  return {};
}

}  // namespace

const std::vector<CheckEntry>& slicing_checks() {
  static const std::vector<CheckEntry> checks = {
      {"slice extents", slice_extents},
      {"strided slice extents", strided_slice_extents},
      {"slice masks", slice_masks},
      {"update fits", update_fits},
  };
  return checks;
}

}  // namespace md
