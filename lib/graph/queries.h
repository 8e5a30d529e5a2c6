// Small questions about a graph that every format answers alike.
#pragma once
#include "lib/graph/graph.h"

namespace md {

/// The node that makes the value, or null (a graph input, a constant, an absent operand).
const Node* producer_of(const Graph& graph, ValueId id);
/// The only reader of a value, none_id when there are none or several. Graph outputs do not count as readers.
NodeId only_reader(const Graph& graph, ValueId id);
/// The value has one reader and is not a graph output.
bool is_private(const Graph& graph, ValueId id);
/// All dimensions known.
bool is_static(const Value& value);

}  // namespace md
