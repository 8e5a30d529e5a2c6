#include <fmt/format.h>

#include "lib/rewrite/onnx/site.h"

namespace md {

std::vector<DetectResult> ORT102(const DetectContext& context) {
  if (context.graph_index != 0) return {};
  auto most = onnx::number_after(context, "max supported IR version:");
  if (!most) most = onnx::number_after(context, "is higher than the checker's (");
  const int have = context.model.format_version;
  if (!most || *most >= have || *most < 3) return {};
  DetectResult result;
  result.message = fmt::format("the file has IR version {}, and this runtime reads up to {}", have, *most);
  result.words = {{"have", std::to_string(have)}, {"max", std::to_string(*most)}};
  bool functions = false;
  for (const Graph& graph : context.model.graphs)
    for (const NodeId id : graph.order)
      functions = functions || (!onnx::default_domain(graph.node(id)) && !graph.node(id).subgraphs.empty());
  if (functions && *most < 8) {
    result.state = DetectResult::State::declined;
    result.reason = "the file has local functions, which came with IR version 8: inline them first";
    return {std::move(result)};
  }
  Patch patch;
  patch.title = fmt::format("IR version {}", *most);
  patch.format_version = static_cast<int>(*most);
  result.fixes.emplace_back(std::move(patch));
  return {std::move(result)};
}

}  // namespace md
