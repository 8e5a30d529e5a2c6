#include "lib/rewrite/onnx/join.h"
#include "lib/rewrite/onnx/structure.h"

namespace md {

std::vector<DetectResult> TRT211(const DetectContext& context) {
  return onnx::joined(onnx::scattered_rows(context), onnx::scattered_mask(context));
}

}  // namespace md
