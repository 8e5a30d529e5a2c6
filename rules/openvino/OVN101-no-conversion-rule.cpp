#include "lib/rewrite/onnx/expand.h"

namespace md {

std::vector<DetectResult> OVN101(const DetectContext& context) {
  return onnx::expansions(context, onnx::blamed(context, {"No conversion rule found for operations"}),
                          "OpenVINO has no conversion rule for it");
}

}  // namespace md
