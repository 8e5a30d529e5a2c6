// Advice for a model that runs and gives wrong numbers: how to tell the silent faults apart.
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT018(const DetectContext& context) {
  if (context.graph_index != 0 || context.graph.order.empty()) return {};
  DetectResult result;
  result.state = DetectResult::State::advice;
  result.nodes = {context.graph.order.back()};
  result.message =
      "the output is wrong: say how (--symptom zeros, nan, degrades, first-token-right or state) and give "
      "inputs (--inputs x.npz)";
  result.reason =
      "all rules for silent faults were run; `modeldoctor fp16 MODEL --inputs x.npz` tells whether a value "
      "passes the fp16 range, and where first";
  return {result};
}

}  // namespace md
