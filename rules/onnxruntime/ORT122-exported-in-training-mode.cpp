#include "lib/rewrite/onnx/structure.h"

namespace md {

std::vector<DetectResult> ORT122(const DetectContext& context) { return onnx::training_nodes(context); }

}  // namespace md
