// Parts of a graph that no runtime value reaches: what a converter left unfolded.
#pragma once
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/edit/patch.h"

namespace md {

/// Nodes that depend on constants alone and hang together, in execution order. Lone DEQUANTIZE nodes of
/// weights are no region: they are how fp16 and int8 weights are stored.
struct ConstantRegion {
  std::vector<NodeId> nodes;
  std::vector<ValueId>
      results;  ///< values that nodes outside read, or graph outputs; those of DEQUANTIZE excepted
};

/// One pass over the graph.
std::vector<ConstantRegion> constant_regions(const Graph& graph);

/// Computes the region as the CPU kernels do and makes its results constants; the nodes go. Errors: a result
/// is a graph output, an operator without a kernel, more than `max_bytes` of constants.
Result<Patch> fold_region(const Model& model, int graph_index, const ConstantRegion& region,
                          std::string title, std::int64_t max_bytes = std::int64_t{64} << 20);

}  // namespace md
