#include "rules/aten/complex_results.h"

namespace md {

std::vector<DetectResult> LTC002(const DetectContext& context) {
  return complex_results(
      context, [](const ComplexRegion& region) { return region.has_fourier; },
      "a Fourier transform, for which litert-torch has no lowering");
}

}  // namespace md
