#include "rules/aten/retype.h"

namespace md {

std::vector<DetectResult> TRT006(const DetectContext& context) {
  auto results = retype_region(
      context, DType::f64, DType::f32,
      "{} values are float64, which TensorRT does not compute: the engine is split around them");
  // Float32 is what every backend computes in: worth doing without being asked, as long as the measured error
  // is small. An interface in float64 is kept.
  for (DetectResult& result : results)
    for (ProposedFix& fix : result.fixes) fix.uncalled = true, fix.retypes_interface = false;
  return results;
}

}  // namespace md
