#include "lib/rewrite/onnx/expand.h"
#include "lib/rewrite/onnx/join.h"
#include "lib/rewrite/onnx/structure.h"

namespace md {

std::vector<DetectResult> NCN101(const DetectContext& context) {
  return onnx::joined(
      onnx::expansions(context, onnx::blamed(context, {"not exists or registered", "not supported yet"}),
                       "ncnn has no layer for it"),
      onnx::static_sizes(context));
}

}  // namespace md
