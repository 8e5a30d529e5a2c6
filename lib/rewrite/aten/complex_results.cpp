#include "lib/rewrite/aten/complex_results.h"

namespace md {

std::vector<DetectResult> complex_results(const DetectContext& context,
                                          const std::function<bool(const ComplexRegion&)>& wanted) {
  std::vector<DetectResult> results;
  for (ComplexRegion& region : complex_regions(context)) {
    if (!wanted(region)) continue;
    DetectResult result;
    result.nodes = region.nodes;
    result.value = region.first;
    result.reason = region.reason;
    if (!region.reason.empty())
      result.state = DetectResult::State::declined;
    else
      result.fixes.emplace_back(std::move(region.patch), region.exactness).uncalled =
          region.exactness == Exactness::rounding || !region.has_fourier;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
