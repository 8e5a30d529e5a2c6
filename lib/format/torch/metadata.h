// What torch notes beside a node: where in the user's code it comes from, and in which module.
#pragma once
#include "lib/format/torch/json.h"
#include "lib/graph/graph.h"

namespace md {

/// Frames of the stack trace, the user's own, innermost first; the module path of the last nn_module_stack
/// entry.
void read_pt2_metadata(Json metadata, Node& node);

}  // namespace md
