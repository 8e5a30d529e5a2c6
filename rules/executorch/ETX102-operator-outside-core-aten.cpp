#include <fmt/format.h>

#include <map>

#include "lib/rule/page/detector.h"
#include "lib/runtime/executorch/kernel_list.h"

namespace md {

/// Operators of a lowered program that are outside Core ATen and that nobody runs: why ETX101 is there.
std::vector<DetectResult> ETX102(const DetectContext& context) {
  std::vector<DetectResult> results;
  std::map<std::string, std::vector<NodeId>> outside;
  for (const NodeId id : context.graph.order) {
    const std::string& op = context.graph.node(id).op;
    if (op.starts_with("aten::") && !is_core_aten(op) && !executorch_has_kernel(op))
      outside[op].push_back(id);
  }
  for (auto& [op, nodes] : outside) {
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.likelihood = Likelihood::possible;  // ETX101 says that it fails
    result.message = fmt::format(
        "{} is outside Core ATen: it was let through when the program was lowered (checks off, or on the "
        "exception list), and no backend took it",
        op);
    result.reason =
        "take it out of the .pt2 (random numbers become a constant or an input), or leave it off "
        "_core_aten_ops_exception_list to see where it comes from, and lower again";
    result.nodes = std::move(nodes);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
