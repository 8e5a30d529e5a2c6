// grid_sample as converters write it: taps at FLOOR (or ROUND) of coordinates that are known at run time
// only.
#pragma once
#include <set>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

struct GridSample {
  ValueId image = none_id;           ///< (N, C, H, W)
  ValueId result = none_id;          ///< (N, C, ...)
  ValueId x = none_id, y = none_id;  ///< (N, C, ...): coordinates in pixels before FLOOR, or the ROUNDed ones
  bool nearest = false;
  std::vector<NodeId> gathers;
};

/// Sites whose coordinates depend on a model input.
std::vector<GridSample> grid_samples(const Graph& graph);

/// All GATHER_ND of such sites.
std::set<NodeId> grid_sample_nodes(const Graph& graph);

}  // namespace md
