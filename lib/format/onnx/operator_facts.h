// What follows from the meaning of ONNX's operators, which their schemas do not say.
#pragma once
#include "lib/op/ops.h"

namespace md {

/// Primitive, traits, roles of attributes, sums, ranges and indices of one row.
void add_onnx_facts(OpSpec& row);

}  // namespace md
