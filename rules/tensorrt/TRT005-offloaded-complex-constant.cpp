#include "rules/aten/complex_results.h"
#include "rules/aten/shared_constants.h"

namespace md {

std::vector<DetectResult> TRT005(const DetectContext& context) {
  const bool logged = log_says(context, "FakeTensorDeviceMismatchError");
  return complex_results(
      context, [&](const ComplexRegion& region) { return region.has_constant || logged; },
      "a complex constant in a rotation");
}

}  // namespace md
