// Index tensors of aten operators as flat positions.
#pragma once
#include <optional>
#include <vector>

#include "lib/eval/kernel.h"

namespace md {

/// Index tensors, one an axis; a boolean mask names the coordinates of its marked elements. Absent: the whole
/// axis.
struct Indices {
  std::vector<std::optional<Tensor>> axes;
  bool masked = false;
};

/// nullopt: masks or indices that do not fit the tensor.
std::optional<Indices> indices_of(const Tensor& x, const std::vector<const Tensor*>& list);

/// Flat positions in x of the elements that the indices name, in the order of the result. The indexed axes
/// take one place when they are neighbours, else they come first.
std::optional<std::vector<std::int64_t>> places_of(const Tensor& x, const Indices& indices, Shape& result);

/// For each element of `index` (of x's rank) the flat position in x that gather and scatter mean: the
/// element's own place, with `dim` from the index. Errors: an axis, a shape or an index outside.
Result<std::vector<std::int64_t>> element_places(KernelCall& call, const Tensor& x, const Tensor& index,
                                                 int dim);

}  // namespace md
