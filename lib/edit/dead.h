// Nodes that nothing reads any more after a patch.
#pragma once
#include "lib/edit/patch.h"

namespace md {

/// Adds to patch.removed every node whose results only removed nodes read: what made the operands of the
/// replaced site. Nodes without results and those that change a state stay. `graph` must be indexed.
void remove_dead(const Graph& graph, Patch& patch);

}  // namespace md
