// Integer scatter_add as a comparison of the indices with 0..D-1 and a sum.
#pragma once
#include "lib/rule/page/detector.h"

namespace md {

/// Every integer scatter_add and scatter_reduce(sum) of the graph, with the rewrite or the reason why it is
/// kept.
std::vector<DetectResult> integer_scatter(const DetectContext& context);

}  // namespace md
