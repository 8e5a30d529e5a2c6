#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ORT124(const DetectContext& context) {
  return onnx::repairs_of(context, {"initializer-is-input"}, "weights are no inputs of the graph");
}

}  // namespace md
