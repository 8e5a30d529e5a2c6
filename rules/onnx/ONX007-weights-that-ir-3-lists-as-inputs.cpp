#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ONX007(const DetectContext& context) {
  return onnx::repairs_of(context, {"initializer-not-input"}, "IR version 4, in which weights are no inputs");
}

}  // namespace md
