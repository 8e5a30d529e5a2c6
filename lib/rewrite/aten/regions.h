// Regions that torch.export keeps as graphs of their own (autocast): their nodes in place of the node that
// calls them.
#pragma once
#include <optional>

#include "lib/format/torch/builder.h"
#include "lib/rule/page/detector.h"

namespace md {

/// The inner graph of a node that only switches autocast or gradients for it; null when the node is none, or
/// has none.
const Graph* region_body(const Model& model, const Node& node);

/// True when the body holds no regions itself and takes and gives what the call does.
bool can_inline(const Node& call, const Graph& inner);

/// Another element type for the values of an inlined region.
struct Retype {
  DType from = DType::unknown, to = DType::unknown;
};

/// Puts the nodes of `inner` in the place of `call` (which can_inline).
void inline_region(AtenBuilder& b, NodeId call, const Graph& inner, const Retype& retype = {});

}  // namespace md
