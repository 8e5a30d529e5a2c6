#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ONX002(const DetectContext& context) {
  return onnx::repairs_of(context, {"node-order"}, "nodes in the order in which they run");
}

}  // namespace md
