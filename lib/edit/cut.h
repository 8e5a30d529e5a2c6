// A model cut short: what lies behind given values is removed, and they become outputs. For heads that no
// accelerator takes.
#pragma once
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/graph/graph.h"

namespace md {

/// Removes every node of the main graph that depends on one of the named values, and what only those nodes
/// needed. Outputs that depended on them go; the values become outputs, under their own names in the
/// signatures. Errors (usage): no such value, a constant, or a value that is an output already and has
/// nothing behind it.
Result<Model> cut_before(const Model& model, const std::vector<std::string>& values);

}  // namespace md
