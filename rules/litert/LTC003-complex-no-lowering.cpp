#include <algorithm>

#include "rules/aten/complex_results.h"

namespace md {

std::vector<DetectResult> LTC003(const DetectContext& context) {
  return complex_results(
      context, [](const ComplexRegion& region) { return region.first != none_id; },
      "complex values, for which litert-torch has no types");
}

}  // namespace md
