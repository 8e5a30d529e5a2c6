#include <algorithm>

#include "rules/aten/retype.h"

namespace md {

std::vector<DetectResult> TRT006(const DetectContext& context) {
  auto results = retype_region(
      context, DType::f64, DType::f32,
      "{} values are float64, which TensorRT does not compute: the engine is split around them");
  // Float32 is what every backend computes in: worth doing without being asked, as long as the measured error
  // is small. An interface in float64 is kept.
  const auto at_interface = [&](const std::vector<ValueId>& list) {
    return std::any_of(list.begin(), list.end(),
                       [&](ValueId v) { return context.graph.value(v).dtype == DType::f64; });
  };
  const bool interface = at_interface(context.graph.inputs) || at_interface(context.graph.outputs);
  for (DetectResult& result : results) {
    for (ProposedFix& fix : result.fixes) fix.uncalled = true, fix.retypes_interface = false;
    if (!interface || result.fixes.empty()) continue;
    result.fixes.clear();
    result.state = DetectResult::State::declined;
    result.reason = "an input or output of the program is float64: its type is the interface";
  }
  return results;
}

}  // namespace md
