#include "lib/rewrite/onnx/structure.h"

namespace md {

std::vector<DetectResult> ORT112(const DetectContext& context) { return onnx::baked_batch(context, true); }

}  // namespace md
