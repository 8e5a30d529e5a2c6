// What only the removed nodes needed.
#pragma once
#include <vector>

#include "lib/edit/builder.h"

namespace md {

/// Removes every node whose results nobody reads once the patch's removed nodes are gone and its rewires are
/// made. Looks upwards from the removed nodes only.
void remove_unused(PatchBuilder& patch);

/// The same as a list, for nodes that are about to be removed.
std::vector<NodeId> only_needed_by(const Graph& graph, const std::vector<NodeId>& removed);

}  // namespace md
