#include "lib/rewrite/select_rows.h"

#include <algorithm>

namespace md {

namespace {

constexpr std::size_t most_pieces = 64;

/// Neighbouring rows, or one row several times.
struct Piece {
  std::int64_t begin = 0, size = 1, times = 1;
};

std::vector<Piece> pieces_of(const std::vector<std::int64_t>& list) {
  std::vector<Piece> pieces;
  for (const std::int64_t row : list) {
    if (!pieces.empty()) {
      Piece& last = pieces.back();
      if (last.times == 1 && row == last.begin + last.size) {
        ++last.size;
        continue;
      }
      if (last.size == 1 && row == last.begin) {
        ++last.times;
        continue;
      }
    }
    pieces.push_back({row, 1, 1});
  }
  return pieces;
}

ValueId slice_axis(TfliteBuilder& build, ValueId x, std::size_t axis, std::int64_t begin, std::int64_t size) {
  Shape sizes = build.shape(x);
  if (sizes[axis] == size) return x;
  std::vector<std::int64_t> from(sizes.size(), 0);
  from[axis] = begin;
  sizes[axis] = size;
  return build.slice(x, from, sizes);
}

ValueId join_pieces(TfliteBuilder& build, ValueId x, int axis, const std::vector<std::int64_t>& list,
                    ValueId into) {
  const auto pieces = pieces_of(list);
  if (pieces.size() > most_pieces) return none_id;
  const auto at = static_cast<std::size_t>(axis);
  std::vector<ValueId> parts;
  for (const Piece& piece : pieces) {
    ValueId part = slice_axis(build, x, at, piece.begin, piece.size);
    if (piece.times > 1) {
      std::vector<std::int64_t> multiples(build.shape(x).size(), 1);
      multiples[at] = piece.times;
      part = build.repeat(part, multiples);
    }
    parts.push_back(part);
  }
  return build.concatenation(parts, axis, into);
}

/// The view of x that the counted list takes, or nullopt when no slices, transposes and tiles make it.
std::optional<StridedView> view_of(const Shape& shape, std::size_t axis, const CountedList& list) {
  StridedView view = StridedView::whole(shape);
  std::int64_t stride = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) stride *= shape[i];
  view.offset = list.offset * stride;
  view.axes[axis].clear();
  for (const Digit& d : list.digits) {
    if (d.stride < 0) return std::nullopt;
    view.axes[axis].push_back({d.size, d.stride * stride});
  }
  if (!plan_moves(view, shape, view.shape())) return std::nullopt;
  return view;
}

ValueId counted_rows(TfliteBuilder& build, ValueId x, std::size_t axis, const CountedList& list,
                     ValueId into) {
  const Shape shape = build.shape(x);
  if (list.digits.size() == 1 && list.digits[0].stride > 1) {
    const Digit& d = list.digits[0];
    std::vector<std::int64_t> begin(shape.size(), 0), end = shape, steps(shape.size(), 1);
    begin[axis] = list.offset;
    end[axis] = list.offset + (d.size - 1) * d.stride + 1;
    steps[axis] = d.stride;
    return build.strided_slice(x, begin, end, steps, into);
  }
  if (list.digits.size() == 1 && list.digits[0].stride == -1) {
    const std::int64_t size = list.digits[0].size;
    const ValueId part = slice_axis(build, x, axis, list.offset - size + 1, size);
    const ValueId y = into != none_id ? into : build.value_like(x, build.shape(part));
    const ValueId axes = build.int32s(Shape{static_cast<std::int64_t>(axis)});
    build.patch().add_node("REVERSE_V2", {part, axes}, {y});
    return y;
  }
  const auto view = view_of(shape, axis, list);
  return view ? build.move(x, *view, view->shape(), into) : none_id;
}

/// The accelerator mirrors the height and the width of rank 4 rightly; along the first axis of rank 3 it
/// gives other rows.
ValueId mirror(TfliteBuilder& build, ValueId x, std::size_t axis, std::pair<std::int64_t, std::int64_t> ends,
               ValueId into) {
  const Shape shape = build.shape(x);
  std::int64_t before = 1, behind = 1;
  for (std::size_t i = 0; i < axis; ++i) before *= shape[i];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) behind *= shape[i];
  const Shape plain{1, before, shape[axis], behind};
  if (plain != shape) x = build.reshape(x, plain);
  const std::vector<std::int64_t> paddings{0, 0, 0, 0, ends.first, ends.second, 0, 0};
  const ValueId y = build.mirror_pad(x, paddings, plain == shape ? into : none_id);
  if (plain == shape) return y;
  Shape picked = shape;
  picked[axis] += ends.first + ends.second;
  return build.reshape(y, picked, into);
}

}  // namespace

std::optional<CountedList> counted(const std::vector<std::int64_t>& list) {
  if (list.empty()) return std::nullopt;
  CountedList result{list.front(), {}};
  std::vector<std::int64_t> starts = list;
  while (starts.size() > 1) {
    const std::int64_t step = starts[1] - starts[0];
    std::size_t run = 2;
    while (run < starts.size() && starts[run] - starts[run - 1] == step) ++run;
    if (starts.size() % run != 0) return std::nullopt;
    std::vector<std::int64_t> outer;
    for (std::size_t block = 0; block < starts.size(); block += run) {
      outer.push_back(starts[block]);
      for (std::size_t i = 1; i < run; ++i)
        if (starts[block + i] - starts[block + i - 1] != step) return std::nullopt;
    }
    result.digits.insert(result.digits.begin(), {static_cast<std::int64_t>(run), step});
    starts = std::move(outer);
  }
  return result;
}

std::optional<std::pair<std::int64_t, std::int64_t>> mirrored(const std::vector<std::int64_t>& list,
                                                              std::int64_t size) {
  const auto zero = std::find(list.begin(), list.end(), 0);
  const std::int64_t before = zero - list.begin();
  const std::int64_t after = static_cast<std::int64_t>(list.size()) - before - size;
  if (zero == list.end() || before >= size || after >= size || after < 0 || before + after == 0)
    return std::nullopt;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::int64_t row = static_cast<std::int64_t>(i) - before;
    if (row < 0) row = -row;
    if (row >= size) row = 2 * (size - 1) - row;
    if (list[i] != row) return std::nullopt;
  }
  return std::pair(before, after);
}

ValueId select_rows(TfliteBuilder& build, ValueId x, int axis, const std::vector<std::int64_t>& list,
                    RowPicker picker, ValueId into) {
  const auto at = static_cast<std::size_t>(axis);
  const Shape shape = build.shape(x);
  if (const auto list_digits = counted(list)) {
    const ValueId y = counted_rows(build, x, at, *list_digits, into);
    if (y != none_id) return y;
  }
  if (const auto ends = mirrored(list, shape[at])) return mirror(build, x, at, *ends, into);
  if (picker == RowPicker::gather) return build.gather(x, build.int32s(list), axis, into);
  return picker == RowPicker::pieces ? join_pieces(build, x, axis, list, into) : none_id;
}

}  // namespace md
