#include "lib/rewrite/onnx/types.h"

namespace md {

std::vector<DetectResult> ORT109(const DetectContext& context) { return onnx::unlike_types(context); }

}  // namespace md
