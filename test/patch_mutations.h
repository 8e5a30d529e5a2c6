// Patches made wrong on purpose, one change each: their proofs must refuse them.
#pragma once
#include <string>
#include <vector>

#include "lib/edit/patch.h"

namespace md::test {

struct Mutation {
  std::string what;
  Patch patch;
};

/// The patch with one constant, one argument, one operator or one operand changed, once each.
std::vector<Mutation> mutations(const Dialect& dialect, const Graph& graph, const Patch& patch);

}  // namespace md::test
