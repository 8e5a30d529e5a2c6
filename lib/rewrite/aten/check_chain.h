// Chains of nodes that only serve a check: item -> comparison -> _assert_scalar.
#pragma once
#include <set>

#include "lib/rule/page/detector.h"

namespace md {

/// Nodes that an _assert_* node reads, directly or through others, and that no output, mutation or other
/// effect needs; with the checks themselves.
std::set<NodeId> check_only_nodes(const Graph& graph);

/// A patch that removes them.
Patch drop_checks(const DetectContext& context, const std::set<NodeId>& nodes);

}  // namespace md
