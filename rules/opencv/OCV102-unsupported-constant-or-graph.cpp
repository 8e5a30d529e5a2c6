#include "lib/rewrite/onnx/join.h"
#include "lib/rewrite/onnx/structure.h"

namespace md {

std::vector<DetectResult> OCV102(const DetectContext& context) {
  return onnx::joined(onnx::unsaid_kernel_shapes(context), onnx::decided_control(context),
                      onnx::constant_masks(context));
}

}  // namespace md
