// What the fp16 rules for normalizations report.
#pragma once
#include <functional>

#include "lib/rewrite/norm_pattern.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> norm_findings(const DetectContext& context,
                                        const std::function<bool(const NormSite&)>& concerns);

}  // namespace md
