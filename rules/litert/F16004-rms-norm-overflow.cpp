// The mean of x^2 of an RMSNorm past 65504: its output, and a head behind it, is exactly zero.
#include "lib/rewrite/norm_findings.h"

namespace md {

std::vector<DetectResult> F16004(const DetectContext& context) {
  return norm_findings(context, [](const NormSite& site) { return site.kind == NormSite::Kind::rms; });
}

}  // namespace md
