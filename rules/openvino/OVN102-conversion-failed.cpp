#include "lib/rewrite/onnx/join.h"
#include "lib/rewrite/onnx/structure.h"

namespace md {

std::vector<DetectResult> OVN102(const DetectContext& context) {
  return onnx::joined(onnx::training_nodes(context), onnx::odd_resizes(context));
}

}  // namespace md
