// What a rewrite costs the user: operators, bytes of constants, multiply-adds.
#pragma once
#include "lib/diagnose/diagnosis.h"
#include "lib/graph/graph.h"

namespace md {

/// After minus before. Only constants that somebody still reads, or that are outputs, are counted.
ReportedCost cost_of_change(const Model& before, const Model& after);

}  // namespace md
