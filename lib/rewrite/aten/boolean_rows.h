// h[mask] = v and h[mask] += v with a boolean mask, without a data-dependent number of rows.
#pragma once
#include <string>
#include <vector>

#include "lib/rule/page/detector.h"

namespace md {

/// One result for each boolean mask of the graph that rows are read or written through.
std::vector<DetectResult> boolean_rows(const DetectContext& context);

}  // namespace md
