// Regions of complex values as results of a rule.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/rewrite/aten/complex_pairs.h"

namespace md {

/// Matched or declined results for the regions that `wanted` chooses.
std::vector<DetectResult> complex_results(const DetectContext& context,
                                          const std::function<bool(const ComplexRegion&)>& wanted);

}  // namespace md
