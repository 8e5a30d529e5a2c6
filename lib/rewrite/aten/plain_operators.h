// Operators that Core ATen does not have, written with operators that it has.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/rule/page/detector.h"

namespace md {

/// A fix for each node whose operator ("aten.affine_grid_generator", without its overload) is in the table
/// and `wanted`; declined with a reason where the node's sizes or attributes do not allow it. Words of a
/// result: "op" (the node's operator). Sources of the table: torch's schemas, and what the edge dialect's
/// verifier refuses after torch's own decompositions (measured, torch 2.13).
std::vector<DetectResult> plain_operators(const DetectContext& context,
                                          const std::function<bool(const std::string& base)>& wanted);

/// True when an operator without its overload is in that table.
bool has_plain_form(const std::string& base);

}  // namespace md
