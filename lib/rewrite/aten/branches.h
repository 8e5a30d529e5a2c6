// torch.cond as both of its branches, and a choice between their results.
#pragma once
#include <vector>

#include "lib/rule/page/detector.h"

namespace md {

/// A result for each higher_order.cond of the graph. The branches must do nothing but compute (no writes in
/// place, no random numbers, no further regions) and give tensors of the same types and known shapes; the
/// condition must be a tensor. Checks inside a branch leave with it. Both branches are computed then.
std::vector<DetectResult> both_branches_of_cond(const DetectContext& context);

}  // namespace md
