// Inputs and outputs of two models: which belong together, and what differs in their names, types and shapes.
#pragma once
#include <string>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// Position in B of each input or output of A: by name where all names are found, else by position.
std::vector<std::size_t> matched_values(const Graph& a, const std::vector<ValueId>& ours, const Graph& b,
                                        const std::vector<ValueId>& theirs);

/// Texts on what differs in names, shapes and types of inputs and outputs.
/// `retyped_floats`: another float type is no difference.
std::vector<std::string> compare_interfaces(const Graph& a, const Graph& b, bool retyped_floats = false);
/// The same for a model and what it became: "output \"y\" is f32 1x24, was f32 1x3x8".
std::vector<std::string> interface_changes(const Graph& before, const Graph& after,
                                           bool retyped_floats = false);

}  // namespace md
