// Operator versions of the TFLite format: which version an operator must carry for its operands, and the
// versions after a rewrite: a rank-4 TRANSPOSE that kept the version of its rank-6 ancestor is still refused.
#pragma once
#include "lib/graph/graph.h"

namespace md {

/// The lowest operator version that the node's operands, types and attributes need (TFLite's versioning
/// rules).
int minimal_operator_version(const Graph& graph, const Node& node);

/// Gives version 0 its number, and lowers the version of every operator of a kind that the rewrite touched to
/// what its operands need.
void settle_operator_versions(const Model& before, Model& after);

}  // namespace md
