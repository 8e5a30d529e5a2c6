#include <fmt/format.h>

#include "lib/rule/page/detector.h"

namespace md {

/// Damage inside a program that opens: a delegate's blob is not what its compiler writes, or the schema is
/// newer. What keeps the file from opening is an error of the reader.
std::vector<DetectResult> ETX117(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const NodeId id : context.graph.order) {
    const Node& node = context.graph.node(id);
    const std::string_view damage = node.attrs.text("blob_damage");
    if (node.op != "delegate" || damage.empty()) continue;
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.nodes = {id};
    result.message = fmt::format("the blob of {} ({} bytes) is damaged: {}", node.custom,
                                 node.attrs.integer("blob_bytes"), damage);
    result.reason = "copy the file again, or lower the .pt2 again with the release that the runtime has";
    results.push_back(std::move(result));
  }
  for (const auto& [key, text] : context.model.metadata) {
    if (key != "schema" || context.graph_index != 0) continue;
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.likelihood = Likelihood::possible;
    result.message = fmt::format("the program has schema version {}, ExecuTorch 1.5.1 writes 0", text);
    result.reason =
        "run it with the release that wrote it, or lower the .pt2 again with the release that the runtime "
        "has";
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
