// How much an operator computes, from its row (ops.h): lengths of sums for what rounding may do,
// multiply-adds for what an evaluation costs. Both count from the shapes alone; dynamic dimensions count
// as 1.
#pragma once
#include <cstdint>

#include "lib/graph/graph.h"

namespace md {

/// More than this is not told apart: twice it still fits.
inline constexpr std::int64_t kMostWork = std::int64_t{1} << 61;

/// a * b, at most kMostWork: sizes come from a file.
std::int64_t bounded_product(std::int64_t a, std::int64_t b);
/// Elements of a shape whose dimensions count as 1 at least.
std::int64_t bounded_elements(const Shape& shape);
/// The dimension that lies `from_end` (1: the last) from the end; 1 where there is none or it is not known.
std::int64_t dimension_from_end(const Shape& shape, std::size_t from_end);
/// The shape of an operand that is there; null otherwise.
const Shape* operand_shape(const Graph& graph, const Node& node, std::size_t operand);

/// Terms of each sum that a node computes; 1 for none.
std::int64_t reduction_length(const Graph& graph, const Node& node);

/// Multiply-adds of one node: products of convolutions and matrix products; one an output element for other
/// arithmetic; none for operators that only move data. At most kMostWork.
std::int64_t multiply_adds(const Graph& graph, const Node& node);
/// Of all nodes, at most kMostWork.
std::int64_t total_multiply_adds(const Model& model);

}  // namespace md
