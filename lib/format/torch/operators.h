// What torch's operators are: rows for all overloads of a name at once.
#pragma once
#include "lib/op/ops.h"

namespace md {

/// Rows by name without overload ("aten.add"); names and attributes of arguments are in the schemas
/// (schema.h).
const OpTable& torch_ops();
/// Fills what follows from an operator's meaning (OpSpec::terms, multiply_adds, indices) into its row.
void add_torch_facts(OpSpec& row);

}  // namespace md
