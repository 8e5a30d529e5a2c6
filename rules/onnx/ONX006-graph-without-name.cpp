#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ONX006(const DetectContext& context) {
  return onnx::repairs_of(context, {"graph-without-name"}, "the graph has a name");
}

}  // namespace md
