#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ORT123(const DetectContext& context) {
  return onnx::repairs_of(context, {"stale-shape"}, "the declared shapes are those that the nodes make");
}

}  // namespace md
