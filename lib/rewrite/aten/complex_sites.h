// Where a graph computes with complex values.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// Operators that treat every element alike or only move them: done on both parts.
bool acts_on_parts(const std::string& base);

/// Nodes that hang together through complex values, with the paddings in front of a short-time transform: one
/// set a region.
std::vector<std::set<NodeId>> complex_node_sets(const Graph& graph);

/// {"real": 0.0, "imag": 1.0} as a .pt2 writes complex numbers.
std::optional<std::pair<double, double>> complex_number(const AttrValue& value);

}  // namespace md
