#include "lib/rewrite/onnx/structure.h"

namespace md {

std::vector<DetectResult> ORT111(const DetectContext& context) { return onnx::baked_batch(context, false); }

}  // namespace md
