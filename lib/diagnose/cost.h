// What a rewrite costs the user: operators, bytes of constants, multiply-adds.
#pragma once
#include "lib/diagnose/diagnosis.h"
#include "lib/graph/graph.h"

namespace md {

/// Multiply-adds of one node: products of convolutions and matrix products; one an output element for other
/// arithmetic; none for operators that only move data. Dynamic dimensions count as 1.
std::int64_t multiply_adds(const Graph& graph, const Node& node);

/// After minus before. Only constants that somebody still reads, or that are outputs, are counted.
ReportedCost cost_of_change(const Model& before, const Model& after);

}  // namespace md
