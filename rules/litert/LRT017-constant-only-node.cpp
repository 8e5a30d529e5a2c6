// Operators without a runtime operand: folded, region by region (constant_region.h).
#include <fmt/format.h>

#include "lib/rewrite/constant_region.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT017(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const ConstantRegion& region : constant_regions(context.graph)) {
    DetectResult result;
    result.nodes = region.nodes;
    result.value = region.results.empty() ? none_id : region.results.front();
    const Node& last = context.graph.node(region.nodes.back());
    result.message =
        region.nodes.size() == 1
            ? fmt::format("{} has only constant operands", last.op)
            : fmt::format("{} operators up to {} compute from constants alone", region.nodes.size(), last.op);
    auto patch = fold_region(context.model, context.graph_index, region,
                             fmt::format("{} operator(s) folded to constants", region.nodes.size()));
    if (patch) {
      result.fixes.emplace_back(*std::move(patch));
    } else {
      result.state = DetectResult::State::declined;
      result.reason = patch.error().message;
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
