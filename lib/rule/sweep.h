// Removes what a patch leaves without a reader.
#pragma once
#include "lib/edit/builder.h"

namespace md {

/// Nodes of the graph whose results nobody reads once the patch is applied (its removed nodes and rewired operands do not
/// read, its new nodes do) are removed too, upwards until one is still read or is a graph output. Only nodes that fed
/// something the patch removed or rewired are looked at.
void sweep(PatchBuilder& patch);

}  // namespace md
