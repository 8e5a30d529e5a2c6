#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ONX003(const DetectContext& context) {
  return onnx::repairs_of(context, {"missing-opset", "missing-domain"}, "imports of the operator sets that the nodes use");
}

}  // namespace md
