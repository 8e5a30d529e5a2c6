// What a rewrite costs the user: operators, bytes of constants, multiply-adds.
#pragma once
#include "lib/diagnose/diagnosis.h"
#include "lib/graph/graph.h"

namespace md {

/// More than this is not told apart: twice it still fits.
inline constexpr std::int64_t kMostWork = std::int64_t{1} << 61;

/// Multiply-adds of one node: products of convolutions and matrix products; one an output element for other
/// arithmetic; none for operators that only move data. Dynamic dimensions count as 1. At
/// most kMostWork, whatever sizes the file states.
std::int64_t multiply_adds(const Graph& graph, const Node& node);

/// Of all nodes, at most kMostWork.
std::int64_t total_multiply_adds(const Model& model);

/// After minus before. Only constants that somebody still reads, or that are outputs, are counted.
ReportedCost cost_of_change(const Model& before, const Model& after);

}  // namespace md
