// A strided view: how the elements of one tensor lie in another. Element (i0, i1, ...) of the view is element
// offset + sum(i_d * stride_d) of the source, read row-major. Reshape, transpose, slice, split, broadcast and
// tile keep that form, so a chain of them through tensors of any rank is one view, and one view is what has
// to be rebuilt from operators that the accelerator takes.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// One digit of a view's index: `size` values, `stride` elements of the source apart (0: repeated).
struct Digit {
  std::int64_t size = 1, stride = 0;
  bool operator==(const Digit&) const = default;
};

/// The view keeps, for every axis of its shape, the digits that the axis is made of, outermost first (none:
/// size 1).
struct StridedView {
  std::int64_t offset = 0;
  std::vector<std::vector<Digit>> axes;

  /// The whole of a tensor of this shape, in order.
  static StridedView whole(const Shape& shape);
  Shape shape() const;
  std::vector<Digit> digits() const;  ///< of all axes, without size 1, contiguous neighbours merged

  // Each gives the view after one more operator; nullopt: the result is not a strided view of the source.
  std::optional<StridedView> reshape(const Shape& shape) const;
  std::optional<StridedView> transpose(std::span<const std::int64_t> permutation) const;
  /// Elements begin, begin + step, ... (`size` of them) of one axis; step >= 1.
  std::optional<StridedView> slice(std::size_t axis, std::int64_t begin, std::int64_t size,
                                   std::int64_t step = 1) const;
  std::optional<StridedView> broadcast(const Shape& shape) const;
  std::optional<StridedView> tile(std::span<const std::int64_t> multiples) const;

  /// The source's element for every element of the view, in order.
  std::vector<std::int64_t> indices() const;
};

/// One operator of a rebuilt view. Shapes are what the step writes.
struct MoveStep {
  enum class Kind { reshape, transpose, slice, tile } kind = Kind::reshape;
  Shape shape;
  std::vector<std::int64_t>
      numbers;  ///< transpose: permutation; slice: begin; tile: multiples; reshape: empty
  bool operator==(const MoveStep&) const = default;
};

/// Reshapes, slices, transposes and tiles of rank 4 at most that turn a tensor of shape `source` into the
/// view, written with shape `result` (rank 4 at most, or any rank when the last reshape may write it). At
/// most one step of each kind where that is possible. nullopt: the view overlaps itself or takes elements at
/// a step that does not divide its axis.
std::optional<std::vector<MoveStep>> plan_moves(const StridedView& view, const Shape& source,
                                                const Shape& result);

/// The shape written with rank 4: leading ones added, or neighbouring axes merged from the front.
Shape at_rank_4(const Shape& shape);

}  // namespace md
