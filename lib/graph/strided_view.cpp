#include "lib/graph/strided_view.h"

#include <algorithm>

namespace md {

namespace {

/// Drops size 1 and joins neighbours that step through the source without a gap.
std::vector<Digit> merged(const std::vector<Digit>& digits) {
  std::vector<Digit> result;
  for (const Digit& d : digits) {
    if (d.size == 1) continue;
    if (!result.empty() && result.back().stride == d.stride * d.size) {
      result.back() = {result.back().size * d.size, d.stride};
      continue;
    }
    result.push_back(d);
  }
  return result;
}

std::int64_t product(const std::vector<Digit>& digits) {
  std::int64_t n = 1;
  for (const Digit& d : digits) n *= d.size;
  return n;
}

/// Restricts the digits of one axis to [begin, begin + size) with a step; false when they do not line up.
bool slice_digits(std::vector<Digit>& digits, std::int64_t begin, std::int64_t size, std::int64_t step,
                  std::int64_t& offset) {
  digits = merged(digits);
  if (digits.empty()) return begin == 0 && size == 1;
  Digit& outer = digits.front();
  if (digits.size() == 1) {
    offset += begin * outer.stride;
    outer = {size, outer.stride * step};
    return true;
  }
  std::vector<Digit> inner(digits.begin() + 1, digits.end());
  const std::int64_t block = product(inner);
  if (block < 1) return false;
  if (step == 1 && begin % block == 0 && size % block == 0) {
    offset += begin / block * outer.stride;
    outer.size = size / block;
    return true;
  }
  if (begin / block == (begin + (size - 1) * step) / block) {
    offset += begin / block * outer.stride;
    if (!slice_digits(inner, begin % block, size, step, offset)) return false;
    digits = inner;
    return true;
  }
  return false;
}

}  // namespace

StridedView StridedView::whole(const Shape& shape) {
  StridedView view;
  view.axes.resize(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1) view.axes[i] = {{shape[i], stride}};
    stride *= shape[i];
  }
  return view;
}

Shape StridedView::shape() const {
  Shape result;
  for (const auto& axis : axes) result.push_back(product(axis));
  return result;
}

std::vector<Digit> StridedView::digits() const {
  std::vector<Digit> all;
  for (const auto& axis : axes) all.insert(all.end(), axis.begin(), axis.end());
  return merged(all);
}

std::optional<StridedView> StridedView::reshape(const Shape& shape) const {
  StridedView result;
  result.offset = offset;
  std::vector<Digit> rest = digits();
  std::reverse(rest.begin(), rest.end());  // the next digit is at the back
  for (const std::int64_t dim : shape) {
    std::vector<Digit> axis;
    std::int64_t need = dim;
    while (need > 1) {
      if (rest.empty()) return std::nullopt;
      Digit d = rest.back();
      rest.pop_back();
      if (d.size < 1) return std::nullopt;  // nothing there to be seen
      if (need % d.size == 0) {
        axis.push_back(d);
        need /= d.size;
      } else if (d.size % need == 0) {
        const std::int64_t inner = d.size / need;
        axis.push_back({need, d.stride * inner});
        rest.push_back({inner, d.stride});
        need = 1;
      } else {
        return std::nullopt;
      }
    }
    if (need != 1) return std::nullopt;
    result.axes.push_back(std::move(axis));
  }
  if (!rest.empty()) return std::nullopt;
  return result;
}

std::optional<StridedView> StridedView::transpose(std::span<const std::int64_t> permutation) const {
  if (permutation.size() != axes.size()) return std::nullopt;
  StridedView result;
  result.offset = offset;
  for (const std::int64_t axis : permutation) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(axes.size())) return std::nullopt;
    result.axes.push_back(axes[static_cast<std::size_t>(axis)]);
  }
  return result;
}

std::optional<StridedView> StridedView::slice(std::size_t axis, std::int64_t begin, std::int64_t size,
                                              std::int64_t step) const {
  if (axis >= axes.size() || begin < 0 || size < 1 || step < 1) return std::nullopt;
  if (begin + (size - 1) * step >= product(axes[axis])) return std::nullopt;
  StridedView result = *this;
  if (!slice_digits(result.axes[axis], begin, size, step, result.offset)) return std::nullopt;
  return result;
}

std::optional<StridedView> StridedView::broadcast(const Shape& shape) const {
  if (shape.size() < axes.size()) return std::nullopt;
  StridedView result = *this;
  result.axes.insert(result.axes.begin(), shape.size() - axes.size(), {});
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t size = product(result.axes[i]);
    if (size == shape[i]) continue;
    if (size != 1 || shape[i] < 1) return std::nullopt;
    result.axes[i] = {{shape[i], 0}};
  }
  return result;
}

std::optional<StridedView> StridedView::tile(std::span<const std::int64_t> multiples) const {
  if (multiples.size() != axes.size()) return std::nullopt;
  StridedView result = *this;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (multiples[i] < 1) return std::nullopt;
    if (multiples[i] > 1) result.axes[i].insert(result.axes[i].begin(), Digit{multiples[i], 0});
  }
  return result;
}

std::vector<std::int64_t> StridedView::indices() const {
  std::vector<std::int64_t> result{offset};
  for (const Digit& d : digits()) {
    std::vector<std::int64_t> next;
    next.reserve(result.size() * static_cast<std::size_t>(d.size));
    for (const std::int64_t base : result)
      for (std::int64_t i = 0; i < d.size; ++i) next.push_back(base + i * d.stride);
    result = std::move(next);
  }
  return result;
}

Shape at_rank_4(const Shape& shape) {
  if (shape.size() <= 4) {
    Shape padded(4 - shape.size(), 1);
    padded.insert(padded.end(), shape.begin(), shape.end());
    return padded;
  }
  // Axes of size 1 go first; then neighbours are merged from the front: the channels stay the last axis, the
  // batch is 1.
  Shape result;
  for (const std::int64_t dim : shape)
    if (dim != 1) result.push_back(dim);
  while (result.size() > 3) {
    result[1] *= result[0];
    result.erase(result.begin());
  }
  while (result.size() < 4) result.insert(result.begin(), 1);
  return result;
}

}  // namespace md
