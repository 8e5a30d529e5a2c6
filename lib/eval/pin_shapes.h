// A model for one size: inputs that may change their shape get a fixed one, and every shape behind them is
// worked out again. Accelerators compile for fixed shapes only.
#pragma once
#include <map>
#include <string>

#include "lib/base/result.h"
#include "lib/graph/graph.h"

namespace md {

/// A copy of `model` (TFLite) whose main graph's inputs have the given shapes, by input name. A shape may
/// differ from the file's only in dimensions that are dynamic there. Sizes that the graph computes from
/// shapes (SHAPE and small integer arithmetic on it) are evaluated on the way. Errors (usage): no such input,
/// another rank, a fixed dimension changed, a format whose shapes cannot be pinned; (unsupported): an
/// operator in between whose result cannot be worked out, or does not fit the new sizes, named with its node.
Result<Model> pin_shapes(const Model& model, const std::map<std::string, Shape>& shapes);

}  // namespace md
