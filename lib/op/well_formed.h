// The gate behind a reader: whether a model's operators are what their format's table (ops.h) says they are.
// What passes may be relied on by everybody behind it: operands and results are there, attributes have their
// type and a number that can be worked with, ranks are those that the operator has, called graphs take what
// they are given.
#pragma once
#include <optional>
#include <string>

#include "lib/graph/graph.h"

namespace md {

/// The first thing that is wrong: "subgraph 0 operator 3 (CONV_2D): its stride_w is 0, expected 1 or more";
/// nullopt: the model is well-formed. Operators that the table does not know, and formats without a table,
/// pass. Absent optional operands, dynamic and unknown shapes and zero-element tensors are well-formed.
/// Linear in the graph; constants are not read. The graphs' ids must be valid (broken_invariant).
std::optional<std::string> malformed(const Model& model);

}  // namespace md
