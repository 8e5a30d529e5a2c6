#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ONX001(const DetectContext& context) {
  return onnx::repairs_of(context, {"duplicate-value-name", "duplicate-node-name", "duplicate-initializer"},
                          "every name is given once");
}

}  // namespace md
