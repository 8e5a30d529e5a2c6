// Patches to a changed copy of the model. The copy's `origin` fields say what each value and node was in the
// file, so the copy itself is the list of edits: writers and reports compare it with the original.
#pragma once
#include <span>

#include "lib/base/result.h"
#include "lib/edit/patch.h"

namespace md {

/// True when two patches touch a node or value in common (one removes, rewires or changes what the other
/// does, or removes what the other reads the production of), so that they cannot be applied together.
bool overlap(const Patch& a, const Patch& b);

/// Applies patches that do not overlap. New values are appended (existing ids stay), removed nodes become
/// holes, new nodes are placed where the data flow needs them, otherwise as close as possible to the place of
/// the nodes that they replace. Fails (kind internal) when a patch is malformed or the result breaks an
/// invariant.
Result<Model> apply_patches(const Model& model, std::span<const Patch> patches);

}  // namespace md
