#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ORT110(const DetectContext& context) {
  return onnx::repairs_of(context, {"stale-type"}, "the declared types are those that the nodes make");
}

}  // namespace md
