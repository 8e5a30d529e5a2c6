#include <algorithm>

#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ORT119(const DetectContext& context) {
  // only where declarations are what differs: an operand of a wrong size is no declaration's fault
  if (onnx::texts_with(context, "Inferred shape and existing shape differ").empty()) return {};
  return onnx::repairs_of(context, {"stale-shape"}, "the declared shapes are those that the nodes make");
}

}  // namespace md
