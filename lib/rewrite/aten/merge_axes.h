// Two neighbouring axes of a region of high-rank tensors merged into one, and split again where the region
// ends.
#pragma once
#include <string>
#include <vector>

#include "lib/rule/page/detector.h"

namespace md {

struct MergedRegion {
  std::vector<NodeId> nodes;  ///< that write tensors of the region, in order
  std::string reason;         ///< why no pair of axes can be merged; empty: `patch` merges one
  bool at_interface = false;  ///< a tensor of the region is an input or output of the graph
  Patch patch;
};

/// One entry for each connected region of tensors of rank `too_high` and more. A patch lowers the rank by
/// one: rules are run again until nothing is left.
std::vector<MergedRegion> merge_axes(const DetectContext& context, int too_high);

}  // namespace md
