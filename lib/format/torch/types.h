// What the result of an aten node must look like, by its operands: what a reader checks declared types by.
#pragma once
#include <optional>
#include <string>

#include "lib/graph/graph.h"

namespace md {

/// How a declared result disagrees with the node's operands, as part of a sentence ("a result of shape 2x3
/// for aten.mm.default, found \"y\" of shape 2"): rank, a size that is known on both sides, complex against
/// real numbers; also operands that do not go together. nullopt: they agree, or nothing is known about the
/// operator. The node's operands and results must exist in the graph and its arguments must fit its schema.
std::optional<std::string> aten_type_misfit(const Graph& graph, const Node& node);

}  // namespace md
