// What an integer operand may hold when it is an index: samples are drawn within it.
#pragma once
#include <cstdint>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// Smallest dimension that `nodes` index with the integer value `input`, by their rows (OpSpec::indices),
/// also through integers computed from it; 0 when it is not used as an index.
std::int64_t index_limit(const Graph& graph, const std::vector<NodeId>& nodes, ValueId input);

}  // namespace md
