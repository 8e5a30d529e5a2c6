// Whether a rewritten graph's types hold together.
#pragma once
#include <optional>
#include <string>

#include "lib/graph/graph.h"

namespace md {

/// The first node of `after` that is new or stands at changed values, and whose operands contradict each
/// other or the declared types of its results ("RESHAPE (node 3): the shape 1x8x4 does not fit 1x8x8x4").
/// Nodes that contradicted themselves in `before` are left out. nullopt: nothing is known to be wrong.
std::optional<std::string> ill_typed(const Model& before, const Model& after);

}  // namespace md
