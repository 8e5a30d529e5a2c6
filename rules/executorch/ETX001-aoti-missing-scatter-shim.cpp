#include "rules/aten/scatter_sum.h"

namespace md {

std::vector<DetectResult> ETX001(const DetectContext& context) {
  std::vector<DetectResult> results = integer_scatter(context);
  for (DetectResult& result : results)
    result.message = "an integer scatter_add, whose kernel the AOTI runtime does not link";
  return results;
}

}  // namespace md
