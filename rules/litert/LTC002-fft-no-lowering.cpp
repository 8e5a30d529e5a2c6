#include "rules/aten/complex_results.h"
#include "rules/aten/shared_constants.h"

namespace md {

std::vector<DetectResult> LTC002(const DetectContext& context) {
  // Where the log stumbles over complex values and no transform, LTC003 has the region.
  const bool transform =
      log_says(context, "_fft_") || log_says(context, "aten.stft") || log_says(context, "aten.fft_");
  const bool elsewhere = !transform && log_says(context, "Lowering not found: aten.");
  return complex_results(
      context,
      [&](const ComplexRegion& region) {
        return region.has_fourier && (!elsewhere || region.first == none_id);
      },
      "a Fourier transform, for which litert-torch has no lowering");
}

}  // namespace md
