#include "rules/aten/scatter_sum.h"

namespace md {

std::vector<DetectResult> TRT009(const DetectContext& context) {
  std::vector<DetectResult> results = integer_scatter(context);
  for (DetectResult& result : results)
    result.message = "an integer scatter_add, which becomes a loop of slices";
  return results;
}

}  // namespace md
