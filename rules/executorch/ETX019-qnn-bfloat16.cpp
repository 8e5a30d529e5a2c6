#include "rules/aten/retype.h"

namespace md {

std::vector<DetectResult> ETX019(const DetectContext& context) {
  return retype_region(context, DType::bf16, DType::f32,
                       "{} values are bfloat16, a type that the Qualcomm backend does not know");
}

}  // namespace md
