// Inference of operators that move, cut, join and pick elements.
#include <algorithm>

#include "lib/format/onnx/infer_rules.h"

namespace md::onnx {
namespace {

std::optional<std::int64_t> product_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape)
    if (d < 0 || __builtin_mul_overflow(count, d, &count)) return std::nullopt;
  return count;
}

void reshape(Site& s) {
  auto wanted = s.node.version < 5 ? s.list("shape", 99) : s.numbers(1);
  if (s.node.version < 5 && !wanted) wanted = Numbers();
  const Shape& x = s.shape(0);
  if (!wanted) {  // the rank is the length of the list
    if (s.ranked(1) && s.shape(1).size() == 1 && s.shape(1)[0] >= 0 && s.shape(1)[0] < 64)
      s.give(0, Shape(static_cast<std::size_t>(s.shape(1)[0]), dynamic_dim));
    return;
  }
  const bool zeros = s.attrs().flag("allowzero");
  Shape shape;
  std::optional<std::size_t> rest;
  bool unknown = false;
  for (std::size_t d = 0; d < wanted->size(); ++d) {
    std::int64_t n = (*wanted)[d];
    if (n == unknown_number) {
      unknown = true, n = dynamic_dim;
    } else if (n == -1) {
      if (rest) return s.no("two of the sizes are -1");
      rest = d, n = dynamic_dim;
    } else if (n < 0) {
      return s.no("a size is below -1");
    } else if (n == 0 && !zeros) {
      if (d >= x.size()) return s.no("a size is 0, but the operand has no such dimension");
      n = x[d];
    }
    shape.push_back(n);
  }
  // What stands on both sides cancels: dimensions that are copied need not be known.
  std::int64_t from = 1, to = 1;
  bool known = !unknown;
  std::vector<char> copied(x.size(), 0);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (rest && *rest == d) continue;
    if (!zeros && (*wanted)[d] == 0 && x[d] < 0)
      copied[d] = 1;
    else if (shape[d] < 0 || __builtin_mul_overflow(to, shape[d], &to))
      known = false;
  }
  for (std::size_t d = 0; d < x.size(); ++d)
    if (!copied[d] && (x[d] < 0 || __builtin_mul_overflow(from, x[d], &from))) known = false;
  if (known && rest) {
    if (to == 0 ? from != 0 : from % to) return s.no("the elements do not fit the shape");
    shape[*rest] = to == 0 ? 0 : from / to;
  } else if (known && from != to) {
    return s.no("the elements do not fit the shape");
  }
  // One unknown size alone is what is left.
  if (!known && !rest && std::count(shape.begin(), shape.end(), dynamic_dim) == 1) {
    const auto all = product_of(x);
    const auto at = std::find(shape.begin(), shape.end(), dynamic_dim);
    std::int64_t others = 1;
    for (const std::int64_t n : shape)
      if (n >= 0) others = times(others, n);
    if (all && others > 0 && *all % others == 0) *at = *all / others;
  }
  s.give(0, std::move(shape));
}

void transpose(Site& s) {
  const Shape& x = s.shape(0);
  Numbers perm = s.list("perm", 99).value_or(Numbers());
  if (perm.empty())
    for (std::size_t d = x.size(); d-- > 0;) perm.push_back(static_cast<std::int64_t>(d));
  if (perm.size() != x.size()) return s.no("perm needs one number a dimension");
  Shape shape;
  std::vector<char> seen(x.size(), 0);
  for (const std::int64_t p : perm) {
    if (p < 0 || p >= static_cast<std::int64_t>(x.size()) || seen[static_cast<std::size_t>(p)])
      return s.no("perm is no permutation of the dimensions");
    seen[static_cast<std::size_t>(p)] = 1;
    shape.push_back(x[static_cast<std::size_t>(p)]);
  }
  s.give(0, std::move(shape));
}

void flatten(Site& s) {
  const Shape& x = s.shape(0);
  std::int64_t axis = s.attrs().integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(x.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return s.no("the axis is out of range");
  std::int64_t before = 1, behind = 1;
  for (std::int64_t d = 0; d < rank; ++d) {
    std::int64_t& side = d < axis ? before : behind;
    side = times(side, x[static_cast<std::size_t>(d)]);
  }
  s.give(0, {before, behind});
}

void squeeze(Site& s) {
  const Shape& x = s.shape(0);
  const bool given = s.has(1) || s.list("axes", 99);
  const auto axes = s.list("axes", 1);
  if (given && !axes) return;
  std::vector<char> drop(x.size(), 0);
  if (axes && !axes->empty()) {
    for (const std::int64_t a : *axes) {
      if (a == unknown_number) return;
      const auto axis = axis_in(a, x.size());
      if (!axis) return s.no("an axis is out of range");
      if (x[*axis] >= 0 && x[*axis] != 1) return s.no("axes names a dimension that is not 1");
      drop[*axis] = 1;
    }
  } else {
    for (std::size_t d = 0; d < x.size(); ++d) {
      if (x[d] < 0) return;
      drop[d] = x[d] == 1;
    }
  }
  Shape shape;
  for (std::size_t d = 0; d < x.size(); ++d)
    if (!drop[d]) shape.push_back(x[d]);
  s.give(0, std::move(shape));
}

void unsqueeze(Site& s) {
  const auto axes = s.list("axes", 1);
  if (!axes) return;
  Shape shape(s.shape(0).size() + axes->size(), 0);
  if (shape.size() > 64) return s.no("too many dimensions");
  for (const std::int64_t a : *axes) {
    if (a == unknown_number) return s.give(0, Shape(shape.size(), dynamic_dim));
    const auto axis = axis_in(a, shape.size());
    if (!axis || shape[*axis] == 1) return s.no("an axis is out of range or named twice");
    shape[*axis] = 1;
  }
  std::size_t next = 0;
  for (std::int64_t& d : shape)
    if (d == 0) d = s.shape(0)[next++];
  s.give(0, std::move(shape));
}

void concat(Site& s) {
  const std::int64_t number = s.attrs().integer("axis", s.node.version < 4 ? 1 : 0);
  std::optional<Shape> shape;
  std::optional<std::size_t> axis;
  bool whole = true;
  for (std::size_t i = 0; i < s.operands.size(); ++i) {
    if (!s.ranked(i)) {
      whole = false;
      continue;
    }
    const Shape& part = s.shape(i);
    if (!shape) {
      shape = part;
      axis = axis_in(number, part.size());
      if (!axis) return s.no("the axis is out of range");
      continue;
    }
    if (part.size() != shape->size()) return s.no("the operands differ in rank");
    for (std::size_t d = 0; d < part.size(); ++d) {
      std::int64_t& n = (*shape)[d];
      if (d == *axis)
        n = n < 0 || part[d] < 0 ? dynamic_dim : n + part[d];
      else if (n < 0)
        n = part[d];
      else if (part[d] >= 0 && part[d] != n)
        return s.no("the operands differ beside the axis");
    }
  }
  if (!shape) return;
  if (!whole) (*shape)[*axis] = dynamic_dim;
  s.give(0, std::move(*shape));
}

void split(Site& s) {
  const Shape& x = s.shape(0);
  const auto axis = axis_in(s.attrs().integer("axis"), x.size());
  if (!axis) return s.no("the axis is out of range");
  const auto sizes = s.list("split", 1);
  const bool given = s.has(1);
  const auto parts = static_cast<std::int64_t>(s.out.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < s.out.size(); ++i) {
    Shape shape = x;
    std::int64_t& n = shape[*axis];
    if (sizes && !sizes->empty()) {
      if (sizes->size() != s.out.size()) return s.no("the sizes do not fit the results");
      n = (*sizes)[i] == unknown_number ? dynamic_dim : (*sizes)[i];
      sum = n < 0 || sum < 0 ? -1 : sum + n;
    } else if (given) {
      n = dynamic_dim;
    } else if (n >= 0) {
      if (s.node.version < 18 && n % parts) return s.no("the axis cannot be split into that many parts");
      const std::int64_t chunk = (n + parts - 1) / parts, left = n - chunk * static_cast<std::int64_t>(i);
      n = std::clamp<std::int64_t>(left, 0, chunk);
    }
    s.give(i, std::move(shape));
  }
  if (sizes && !sizes->empty() && sum >= 0 && x[*axis] >= 0 && sum != x[*axis])
    s.no("the sizes do not add up to the dimension");
}

/// Length of start:end:step over n elements, as ONNX clamps them.
std::int64_t slice_length(std::int64_t n, std::int64_t start, std::int64_t end, std::int64_t step) {
  const auto bound = [&](std::int64_t v) {
    if (v < 0) v += n;
    return step > 0 ? std::clamp<std::int64_t>(v, 0, n) : std::clamp<std::int64_t>(v, -1, n - 1);
  };
  // An end far below zero of a negative step means: up to the first.
  const std::int64_t first =
      step > 0 ? bound(start) : std::clamp<std::int64_t>(start < 0 ? start + n : start, 0, n - 1);
  const std::int64_t last = bound(end);
  const std::int64_t length =
      step > 0 ? (last - first + step - 1) / step : (first - last - (step + 1)) / -step;
  return std::max<std::int64_t>(length, 0);
}

void slice(Site& s) {
  Shape shape = s.shape(0);
  const bool old = s.node.version < 10;
  const auto starts = old ? s.list("starts", 99) : s.numbers(1),
             ends = old ? s.list("ends", 99) : s.numbers(2);
  const bool axes_given = old ? s.list("axes", 99).has_value() : s.has(3);
  auto axes = old ? s.list("axes", 99) : s.numbers(3);
  const bool steps_given = !old && s.has(4);
  const auto steps = steps_given ? s.numbers(4) : std::nullopt;
  if (axes_given && !axes) return s.give(0, Shape(shape.size(), dynamic_dim));
  const std::size_t count = starts ? starts->size()
                            : ends ? ends->size()
                            : axes ? axes->size()
                                   : shape.size();
  if ((starts && starts->size() != count) || (ends && ends->size() != count) ||
      (axes && axes->size() != count) || (steps && steps->size() != count))
    return s.no("starts, ends, axes and steps differ in length");
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t number = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
    if (number == unknown_number) return s.give(0, Shape(shape.size(), dynamic_dim));
    const auto axis = axis_in(number, shape.size());
    if (!axis) return s.no("an axis is out of range");
    std::int64_t& n = shape[*axis];
    const std::int64_t step = steps ? (*steps)[i] : steps_given ? unknown_number : 1;
    if (step == 0) return s.no("a step is 0");
    const bool known = starts && ends && (*starts)[i] != unknown_number && (*ends)[i] != unknown_number &&
                       step != unknown_number;
    if (known && n >= 0)
      n = slice_length(n, (*starts)[i], (*ends)[i], step);
    else if (known && step == 1 && (*starts)[i] < 0 && (*ends)[i] == std::numeric_limits<std::int64_t>::max())
      n = dynamic_dim;
    else
      n = dynamic_dim;
  }
  s.give(0, std::move(shape));
}

void gather(Site& s) {
  const Shape &x = s.shape(0), &indices = s.shape(1);
  const auto axis = axis_in(s.attrs().integer("axis"), x.size());
  if (!axis) return s.no("the axis is out of range");
  Shape shape(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(*axis));
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), x.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, x.end());
  s.give(0, std::move(shape));
}

void gather_elements(Site& s) {
  if (s.shape(0).size() != s.shape(1).size()) return s.no("indices need the operand's rank");
  if (!axis_in(s.attrs().integer("axis"), s.shape(0).size())) return s.no("the axis is out of range");
  s.give(0, s.shape(1));
}

void gather_nd(Site& s) {
  const Shape &x = s.shape(0), &indices = s.shape(1);
  const std::int64_t batch = s.attrs().integer("batch_dims");
  if (indices.empty() || x.empty() || batch < 0) return s.no("an operand has no dimensions");
  const std::int64_t depth = indices.back();
  if (depth < 0) return;
  if (batch + depth > static_cast<std::int64_t>(x.size()))
    return s.no("the last dimension of the indices does not fit the operand");
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), x.begin() + batch + depth, x.end());
  s.give(0, std::move(shape));
}

void expand(Site& s) {
  const auto wanted = s.numbers(1);
  if (!wanted) {
    if (s.ranked(1) && s.shape(1).size() == 1 && s.shape(1)[0] >= 0 && s.shape(1)[0] < 64) {
      const Shape unknown(static_cast<std::size_t>(s.shape(1)[0]), dynamic_dim);
      s.give(0, broadcast_shape(s.shape(0), unknown).value_or(unknown));
    }
    return;
  }
  Shape to = *wanted;
  for (std::int64_t& n : to) {
    if (n < 0 && n != unknown_number) return s.no("a size is negative");
    if (n == unknown_number) n = dynamic_dim;
  }
  auto shape = broadcast_shape(s.shape(0), to);
  if (!shape) return s.no("the operand does not broadcast to " + shape_text(to));
  s.give(0, std::move(*shape));
}

void tile(Site& s) {
  Shape shape = s.shape(0);
  if (s.node.version < 6) return;
  const auto times_ = s.numbers(1);
  if (!times_) return s.give(0, Shape(shape.size(), dynamic_dim));
  if (times_->size() != shape.size()) return s.no("repeats need one number a dimension");
  for (std::size_t d = 0; d < shape.size(); ++d)
    shape[d] = (*times_)[d] == unknown_number ? dynamic_dim : times(shape[d], (*times_)[d]);
  s.give(0, std::move(shape));
}

void pad(Site& s) {
  Shape shape = s.shape(0);
  const auto pads = s.node.version < 2    ? s.list("paddings", 99)
                    : s.node.version < 11 ? s.list("pads", 99)
                                          : s.numbers(1);
  if (!pads) return s.give(0, Shape(shape.size(), dynamic_dim));
  std::optional<Numbers> axes;
  if (s.has(3)) {
    axes = s.all_numbers(3);
    if (!axes) return s.give(0, Shape(shape.size(), dynamic_dim));
  }
  const std::size_t count = axes ? axes->size() : shape.size();
  if (pads->size() != 2 * count) return s.no("pads need two numbers a dimension");
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = axes ? axis_in((*axes)[i], shape.size()) : i;
    if (!axis) return s.no("an axis is out of range");
    const std::int64_t a = (*pads)[i], b = (*pads)[count + i];
    std::int64_t& n = shape[*axis];
    if (a == unknown_number || b == unknown_number)
      n = dynamic_dim;
    else if (n >= 0)
      n = std::max<std::int64_t>(n + a + b, 0);
  }
  s.give(0, std::move(shape));
}

void blocks(Site& s, bool to_depth) {
  const std::int64_t b = s.attrs().integer("blocksize");
  const Shape& x = s.shape(0);
  if (x.size() != 4 || b < 1 || b > 65536) return s.no("expected a rank-4 operand and a block size");
  const auto over = [](std::int64_t n, std::int64_t by) { return n < 0 ? dynamic_dim : n / by; };
  if (to_depth)
    s.give(0, {x[0], times(x[1], b * b), over(x[2], b), over(x[3], b)});
  else
    s.give(0, {x[0], over(x[1], b * b), times(x[2], b), times(x[3], b)});
}
void space_to_depth(Site& s) { blocks(s, true); }
void depth_to_space(Site& s) { blocks(s, false); }

void center_crop_pad(Site& s) {
  Shape shape = s.shape(0);
  const auto sizes = s.numbers(1);
  const auto axes = s.list("axes", 99);
  const std::size_t count = axes ? axes->size() : shape.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = axes ? axis_in((*axes)[i], shape.size()) : i;
    if (!axis) return s.no("an axis is out of range");
    shape[*axis] = sizes && i < sizes->size() && (*sizes)[i] >= 0 ? (*sizes)[i] : dynamic_dim;
  }
  s.give(0, std::move(shape));
}

constexpr Rule rules[] = {
    {"Reshape", reshape},
    {"Transpose", transpose},
    {"Flatten", flatten},
    {"Squeeze", squeeze},
    {"Unsqueeze", unsqueeze},
    {"Concat", concat, 0},
    {"Split", split},
    {"Slice", slice},
    {"Gather", gather, 2},
    {"GatherElements", gather_elements, 2},
    {"GatherND", gather_nd, 2},
    {"Expand", expand},
    {"Tile", tile},
    {"Pad", pad},
    {"SpaceToDepth", space_to_depth},
    {"DepthToSpace", depth_to_space},
    {"CenterCropPad", center_crop_pad},
};

}  // namespace

std::span<const Rule> movement_rules() { return rules; }

}  // namespace md::onnx
