// Operator versions after a rewrite: a rank-4 TRANSPOSE that kept the version of its rank-6 ancestor is still
// refused.
#pragma once
#include "lib/graph/graph.h"

namespace md {

/// Gives version 0 its number, and lowers the version of every operator of a kind that the rewrite touched to
/// what its operands need. Only .tflite has operator versions of this sort; other formats stay as they are.
void settle_operator_versions(const Model& before, Model& after);

}  // namespace md
