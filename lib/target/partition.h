// How a delegate divides a graph: runs of nodes that it takes, of which the largest goes to the GPU.
#pragma once
#include <cstddef>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

struct Partitioning {
  std::size_t nodes = 0;        ///< of the graph
  std::size_t accelerated = 0;  ///< of the largest run of supported nodes
  std::size_t partitions = 0;   ///< runs of supported nodes
  std::vector<bool> chosen;     ///< by position in graph.order: in the largest run (the first of several)
};

/// `supported`: by position in graph.order. A run holds what can be executed together without leaving it: as
/// the runtime does, it is closed when no further node of its kind is ready. O(nodes log nodes + edges).
Partitioning partition(const Graph& graph, const std::vector<bool>& supported);

}  // namespace md
