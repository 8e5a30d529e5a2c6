#include "rules/aten/retype.h"

namespace md {

std::vector<DetectResult> ETX009(const DetectContext& context) {
  return retype_region(context, DType::bf16, DType::f32,
                       "{} values are bfloat16, a type that Core ML Tools does not know");
}

}  // namespace md
