#include "lib/rewrite/onnx/structure.h"

namespace md {

std::vector<DetectResult> TRT205(const DetectContext& context) { return onnx::static_sizes(context); }

}  // namespace md
