// Complex arithmetic as arithmetic on pairs of real tensors (re, im), Fourier transforms included.
#pragma once
#include <string>
#include <vector>

#include "lib/rule/page/detector.h"

namespace md {

struct ComplexRegion {
  std::vector<NodeId> nodes;  ///< that read or write complex values, in order
  ValueId first = none_id;    ///< the first complex value
  bool has_fourier = false, has_constant = false;
  std::string reason;  ///< why it is kept; empty: `patch` rewrites it
  Exactness exactness = Exactness::rounding;
  Patch patch;
};

/// One entry for each connected region of complex values in the graph.
std::vector<ComplexRegion> complex_regions(const DetectContext& context);

}  // namespace md
