// Interpolation written with GATHER_ND: one constant matrix an axis.
#include "rules/litert/linear_fixes.h"

namespace md {

std::vector<DetectResult> LRT003(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const LinearSite& site : linear_sites(context.model, context.graph_index)) {
    if (samples_points(context.graph, site)) continue;  // LRT002
    if (const auto maps = factor(context.model, context.graph_index, site))
      results.push_back(linear_result(context, site, *maps));
  }
  return results;
}

}  // namespace md
