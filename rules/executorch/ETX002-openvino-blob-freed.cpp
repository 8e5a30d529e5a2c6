#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> ETX002(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = context.graph.node(id);
    if (node.op != "delegate" || node.custom != "OpenvinoBackend" || !node.attrs.flag("keeps_blob")) continue;
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.nodes = {id};
    result.message = "compiled by OpenVINO " + std::string(node.attrs.text("compiler")) +
                     ", which reads its blob after ExecuTorch has freed it";
    result.reason =
        "load the program from a buffer that outlives it, not from a path; or use OpenVINO older than 2026.4";
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
