#include "lib/rewrite/onnx/structure.h"

namespace md {

std::vector<DetectResult> TRT204(const DetectContext& context) { return onnx::scattered_mask(context); }

}  // namespace md
