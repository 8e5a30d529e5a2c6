// Tensors whose size is known only when the model runs. A delegate for static sizes refuses the whole graph
// for one.
#pragma once
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// A node whose results have no static size, and the first such result.
struct DynamicValue {
  NodeId node = none_id;
  ValueId value = none_id;
};

/// By the runtime's rules: a size-giving operand (a shape, axes, paddings, ...) that is neither constant nor
/// computed from static shapes alone, or an operator whose result's size depends on the data (WHERE, UNIQUE).
/// The value with the lowest id; none_id when all sizes are static.
DynamicValue first_dynamic_value(const Graph& graph);

}  // namespace md
