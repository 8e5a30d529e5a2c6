// Smaller shapes of a site's inputs: for counterexamples that people can read, and for sites that are too
// large to be run often.
#pragma once
#include <cstdint>
#include <functional>
#include <map>

#include "lib/eval/evaluator.h"

namespace md {

using InputShapes = std::map<ValueId, Shape>;

/// Makes dimensions smaller, none below `smallest`, while `holds` says yes: first all dimensions of one size
/// together (they belong together more often than not), then one by one. At most `tries` calls.
InputShapes shrink_shapes(InputShapes shapes, std::int64_t smallest,
                          const std::function<bool(const InputShapes&)>& holds, int tries);

/// The part of a tensor of `shape` that begins at `start` (of the same rank, inside).
Tensor crop(const Tensor& tensor, const Shape& shape, const Shape& start);

std::int64_t total_elements(const InputShapes& shapes);

}  // namespace md
