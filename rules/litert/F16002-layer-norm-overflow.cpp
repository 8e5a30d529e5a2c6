// Variance (LayerNorm, InstanceNorm, GroupNorm) and sums of squares (L2 normalization) past 65504.
#include "lib/rewrite/norm_findings.h"

namespace md {

std::vector<DetectResult> F16002(const DetectContext& context) {
  return norm_findings(context, [](const NormSite& site) { return site.kind != NormSite::Kind::rms; });
}

}  // namespace md
