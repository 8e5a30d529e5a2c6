// What an integer operand may hold when it is an index: samples are drawn within it.
#pragma once
#include <cstdint>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// Smallest dimension that `nodes` index with the integer value `input` (through GATHER, GATHER_ND,
/// EMBEDDING_LOOKUP, SCATTER_ND), 0 when it is not used as an index.
std::int64_t index_limit(const Graph& graph, const std::vector<NodeId>& nodes, ValueId input);

}  // namespace md
