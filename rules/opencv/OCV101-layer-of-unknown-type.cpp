#include "lib/rewrite/onnx/expand.h"

namespace md {

std::vector<DetectResult> OCV101(const DetectContext& context) {
  return onnx::expansions(context, onnx::blamed(context, {"Can't create layer", "can't create layer"}),
                          "OpenCV has no layer for it");
}

}  // namespace md
