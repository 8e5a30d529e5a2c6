#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ONX004(const DetectContext& context) {
  return onnx::repairs_of(context, {"dangling-output"}, "the output is the value that nothing else reads");
}

}  // namespace md
