#include "lib/rewrite/unused_nodes.h"

#include "lib/edit/dead.h"

namespace md {

std::vector<NodeId> only_needed_by(const Graph& graph, const std::vector<NodeId>& removed) {
  Patch patch;
  patch.removed = removed;
  remove_dead(graph, patch);
  return {patch.removed.begin() + static_cast<std::ptrdiff_t>(removed.size()), patch.removed.end()};
}

void remove_unused(PatchBuilder& patch) { remove_dead(patch.graph(), patch.patch()); }

}  // namespace md
