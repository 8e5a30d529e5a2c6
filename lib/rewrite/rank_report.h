// Words about a lowered region: what was written, and the same in PyTorch.
#pragma once
#include <string>

#include "lib/rewrite/rank_region.h"

namespace md {

/// "slice, 3 reshapes and transpose at rank 4".
std::string lowered_title(const Patch& patch);

/// The moves of a patch as a PyTorch expression on `x`, when they are one chain; else empty.
/// "x.reshape(2, 4, 2, 16).permute(0, 2, 1, 3).reshape(4, 16, 4)"
std::string moves_in_pytorch(const Graph& graph, const Patch& patch);

}  // namespace md
