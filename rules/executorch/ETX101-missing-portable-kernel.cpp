#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/rule/page/detector.h"
#include "lib/runtime/executorch/kernel_list.h"

namespace md {
namespace {

bool named_in_log(const DetectContext& context, const std::string& op) {
  return context.log_messages &&
         std::any_of(context.log_messages->begin(), context.log_messages->end(),
                     [&](const std::string& message) { return message.find(op) != std::string::npos; });
}

std::string advice(const std::string& op) {
  if (const std::string_view library = executorch_kernel_library(op); !library.empty()) {
    const bool quantized = library == "quantized_ops_lib";
    return fmt::format("link {} into the runtime{}; or lower the .pt2 again so that a backend takes it",
                       library, quantized ? " (in Python: import executorch.kernels.quantized)" : "");
  }
  if (!op.starts_with("aten::"))
    return "link the library that registers a kernel for it (selective build: --ops), or lower the .pt2 "
           "again with a backend that takes it";
  if (is_core_aten(op))
    return "it is Core ATen, and still has no kernel: write it with operators that have one (topk for sort), "
           "or give it to a backend, and lower the .pt2 again";
  return "in the .pt2, replace it by operators of Core ATen (torch.export's run_decompositions() splits "
         "many), or give it to a backend, and lower again";
}

}  // namespace

/// Operators of a lowered program that no kernel of the runtime takes.
std::vector<DetectResult> ETX101(const DetectContext& context) {
  std::vector<DetectResult> results;
  std::map<std::string, std::vector<NodeId>> missing;
  for (const NodeId id : context.graph.order) {
    const std::string& op = context.graph.node(id).op;
    if (op.find("::") != std::string::npos && !executorch_has_kernel(op)) missing[op].push_back(id);
  }
  for (auto& [op, nodes] : missing) {
    DetectResult result;
    result.state = DetectResult::State::advice;
    const bool ships = !executorch_kernel_library(op).empty();
    // A library or a custom kernel may be linked: nothing is known to fail before a log says so.
    const bool known_to_fail = op.starts_with("aten::") || named_in_log(context, op);
    result.likelihood = known_to_fail ? Likelihood::shown : Likelihood::possible;
    result.message =
        fmt::format("{} ({} call{}) is not delegated, and the runtime of 1.5.1 {}", op, nodes.size(),
                    nodes.size() == 1 ? "" : "s",
                    ships ? "has its kernel only in a library of its own" : "has no kernel for it");
    result.reason = advice(op);
    result.nodes = std::move(nodes);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
