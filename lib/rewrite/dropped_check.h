// Checks of an exported program (_assert_scalar, _assert_async, sym_constrain_range ...) that a patch
// removes.
#pragma once
#include "lib/edit/patch.h"

namespace md {

/// The first check that the patch removes and that could have stopped the program; none_id when there is
/// none. A check cannot stop it when the graph itself shows that it holds (aten/known_bounds.h): the type of
/// a tensor, a size that is not negative, a position that is clamped.
NodeId dropped_check(const Graph& graph, const Patch& patch);

}  // namespace md
