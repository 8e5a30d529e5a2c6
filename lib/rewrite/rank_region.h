// Tensors of rank 5 and more, and the operators that read or write them. A region is what hangs together
// through such tensors; lowering it writes the same computation with rank 4 at most: moves become views of
// the tensors that enter the region (strided_view.h), everything else is done on merged axes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/edit/patch.h"
#include "lib/graph/graph.h"

namespace md {

struct RankRegion {
  std::vector<NodeId> nodes;          ///< in execution order
  std::vector<ValueId> wide;          ///< runtime tensors of rank 5 and more
  ValueId interface_value = none_id;  ///< one of `wide` that is a graph input or output
  /// The constant or dynamic shapes make a region unfit; then this says why.
  std::string unfit;
};

std::vector<RankRegion> rank_regions(const Graph& graph);

/// Operators of any rank as a region of their own, for rules that rewrite moves (BROADCAST_TO) at rank 4.
RankRegion region_of(const Graph& graph, std::vector<NodeId> nodes);

struct LoweredRegion {
  std::optional<Patch> patch;
  std::string reason;          ///< why there is no patch
  NodeId culprit = none_id;    ///< the node that the reason is about
  bool reorders_sums = false;  ///< a sum now runs over merged axes: equal up to the order of additions
};

/// `narrow_interface`: graph inputs and outputs of rank 5 and more get the same elements under a shape of
/// rank 4 (their declared shape changes); otherwise they make the lowering fail.
LoweredRegion lower_region(const Graph& graph, int graph_index, const RankRegion& region,
                           const std::string& title, bool narrow_interface);

}  // namespace md
