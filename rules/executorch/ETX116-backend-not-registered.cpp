#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/rule/page/detector.h"
#include "lib/runtime/executorch/kernel_list.h"

namespace md {
namespace {

/// True when lowering for the target makes calls of the backend. Ethos-U and VGF programs are TOSA inside.
bool serves(std::string_view backend, std::string_view target) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"XnnpackBackend", "executorch-xnnpack"}, {"CoreMLBackend", "executorch-coreml"},
      {"VulkanBackend", "executorch-vulkan"},   {"MLXBackend", "executorch-mlx"},
      {"QnnBackend", "executorch-qnn"},         {"EthosUBackend", "executorch-ethos-u"},
      {"EthosUBackend", "executorch-tosa"},     {"VgfBackend", "executorch-vgf"},
      {"VgfBackend", "executorch-tosa"},        {"TOSABackend", "executorch-tosa"},
      {"NeutronBackend", "executorch-neutron"}, {"CudaBackend", "executorch-cuda"},
      {"MetalBackend", "executorch-metal"},     {"OpenvinoBackend", "executorch-openvino"}};
  return std::find(std::begin(names), std::end(names), std::pair(backend, target)) != std::end(names);
}

bool named_in_log(const DetectContext& context, const std::string& backend) {
  return context.log_messages &&
         std::any_of(context.log_messages->begin(), context.log_messages->end(),
                     [&](const std::string& message) {
                       return message.find("Backend " + backend + " is not registered") != std::string::npos;
                     });
}

}  // namespace

/// Backends that a lowered program calls and the runtime does not bring.
std::vector<DetectResult> ETX116(const DetectContext& context) {
  std::vector<DetectResult> results;
  std::map<std::string, std::vector<NodeId>> calls;
  for (const NodeId id : context.roots())
    if (const Node& node = context.graph.node(id); node.op == "delegate") calls[node.custom].push_back(id);
  const std::string target = context.target ? context.target->name() : "";
  const bool backend_target = target.starts_with("executorch-");
  const bool for_target =
      std::any_of(calls.begin(), calls.end(), [&](const auto& call) { return serves(call.first, target); });
  for (auto& [backend, nodes] : calls) {
    const bool logged = named_in_log(context, backend);
    // What the wheel registers, and what the target names, is there unless a log says otherwise.
    if (!logged &&
        (serves(backend, target) || (executorch_has_backend(backend) && (!backend_target || for_target))))
      continue;
    const auto library = executorch_backend_library(backend);
    const bool foreign = backend_target && !for_target && !executorch_has_backend(backend);
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.likelihood = logged || foreign ? Likelihood::shown : Likelihood::possible;
    result.message =
        foreign && !logged
            ? fmt::format("{} call{} of {}: the program was lowered for another backend than that of {}",
                          nodes.size(), nodes.size() == 1 ? "" : "s", backend, target)
        : library ? fmt::format("{} call{} of {}, which a runtime must be linked with", nodes.size(),
                                nodes.size() == 1 ? "" : "s", backend)
                  : fmt::format("{} call{} of {}, which is no backend of ExecuTorch 1.5.1", nodes.size(),
                                nodes.size() == 1 ? "" : "s", backend);
    result.reason = fmt::format(
        "link {} whole (its registration is a static initializer), or lower the .pt2 again with another "
        "partitioner",
        library && !library->empty() ? std::string(*library) : "the library that registers it");
    // From the last call, so that a fault of one of them is shown first.
    result.nodes.assign(nodes.rbegin(), nodes.rend());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
