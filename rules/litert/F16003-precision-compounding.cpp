// Advice for results that are near right first and worse with depth.
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> F16003(const DetectContext& context) {
  if (context.graph_index != 0 || context.graph.order.empty()) return {};
  DetectResult result;
  result.state = DetectResult::State::advice;
  result.nodes = {context.graph.order.back()};
  result.message =
      "results that get worse with depth: fp16 rounding adds up, no rewrite of single layers removes it";
  result.reason =
      "run `modeldoctor fp16 MODEL --inputs x.npz`: a jump in the error curve is an overflow that can be "
      "mended, a steady rise needs fp32 for the sensitive layers";
  return {result};
}

}  // namespace md
