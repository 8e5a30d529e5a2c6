#include <fmt/format.h>

#include <set>

#include "lib/rule/page/detector.h"
#include "rules/aten/merge_axes.h"

namespace md {

std::vector<DetectResult> ETX010(const DetectContext& context) {
  constexpr int too_high = 6;
  std::vector<DetectResult> results;
  for (MergedRegion& region : merge_axes(context, too_high)) {
    DetectResult result;
    result.nodes = region.nodes;
    const Node& first = context.graph.node(region.nodes.front());
    result.message = fmt::format("{} computes a tensor of rank 6 or more; Core ML holds five", first.op);
    if (region.reason.empty()) {
      result.fixes.emplace_back(std::move(region.patch));
    } else {
      std::set<std::string> ops;
      for (const NodeId id : region.nodes) ops.insert(fmt::format("\"{}\"", context.graph.node(id).op));
      std::string list;
      for (const std::string& op : ops) list += (list.empty() ? "" : ", ") + op;
      result.state = region.at_interface ? DetectResult::State::advice : DetectResult::State::declined;
      result.reason = fmt::format(
          "{}: keep these operators off Core ML with CoreMLPartitioner(skip_ops_for_coreml_delegation=[{}])",
          region.reason, list);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
