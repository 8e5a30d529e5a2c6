#include "lib/rewrite/onnx/types.h"

namespace md {

std::vector<DetectResult> ORT108(const DetectContext& context) { return onnx::forbidden_types(context); }

}  // namespace md
