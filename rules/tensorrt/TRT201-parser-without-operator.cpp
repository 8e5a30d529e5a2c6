#include "lib/rewrite/onnx/expand.h"

namespace md {

std::vector<DetectResult> TRT201(const DetectContext& context) {
  return onnx::expansions(context,
                          onnx::blamed(context, {"No importer registered", "Plugin not found", "plugin"}),
                          "this TensorRT's parser does not know it");
}

}  // namespace md
