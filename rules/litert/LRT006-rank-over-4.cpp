// Everything that hangs together through tensors of rank 5 and more is written again at rank 4:
// lib/rewrite/rank_region.h.
#include <fmt/format.h>

#include <algorithm>

#include "lib/graph/strided_view.h"
#include "lib/rewrite/rank_region.h"
#include "lib/rewrite/rank_report.h"
#include "lib/rule/page/detector.h"

namespace md {

namespace {

std::string describe(const Graph& graph, const RankRegion& region) {
  int lowest = 99, highest = 0;
  for (const ValueId v : region.wide) {
    lowest = std::min(lowest, graph.value(v).rank());
    highest = std::max(highest, graph.value(v).rank());
  }
  const std::string ranks =
      lowest == highest ? fmt::format("rank {}", highest) : fmt::format("rank {} to {}", lowest, highest);
  return fmt::format("{} tensor{} of {} around {}, the accelerator takes rank 4 at most", region.wide.size(),
                     region.wide.size() == 1 ? "" : "s", ranks, graph.node(region.nodes.front()).op);
}

ProposedFix fix_of(LoweredRegion lowered) {
  ProposedFix fix;
  fix.exactness = lowered.reorders_sums ? Exactness::rounding : Exactness::exact;
  lowered.patch->title = lowered_title(*lowered.patch);
  fix.patch = std::move(*lowered.patch);
  return fix;
}

}  // namespace

std::vector<DetectResult> LRT006(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const RankRegion& region : rank_regions(graph)) {
    DetectResult found;
    found.nodes = region.nodes;
    found.value = region.wide.front();
    found.message = describe(graph, region);
    // A repeat or a gather inside is a fault of its own, whose rule rewrites the whole site: it goes first.
    const auto own_fault = [&](NodeId id) {
      return graph.node(id).op == "BROADCAST_TO" || graph.node(id).op == "GATHER_ND";
    };
    if (std::any_of(region.nodes.begin(), region.nodes.end(), own_fault))
      std::rotate(found.nodes.begin(), found.nodes.end() - 1, found.nodes.end());
    LoweredRegion lowered = lower_region(graph, context.graph_index, region, "rank 4", false);
    if (lowered.patch) {
      const std::string chain = moves_in_pytorch(graph, *lowered.patch);
      if (!chain.empty()) found.words["moves"] = chain;
      found.fixes.push_back(fix_of(std::move(lowered)));
    } else {
      found.state = DetectResult::State::declined;
      found.reason =
          fmt::format("{} (node {}): {}", graph.node(lowered.culprit).op, lowered.culprit, lowered.reason);
      LoweredRegion narrowed;
      if (region.interface_value != none_id)
        narrowed = lower_region(graph, context.graph_index, region, "rank 4", true);
      if (narrowed.patch) {
        found.state = DetectResult::State::matched;
        ProposedFix fix = fix_of(std::move(narrowed));
        fix.unsafe = true;
        fix.unsafe_reason = fmt::format(
            "changes the declared shape of \"{}\" from {} to {}: the same numbers in the same order, but "
            "callers must reshape",
            graph.value(region.interface_value).name, shape_text(graph.value(region.interface_value).shape),
            shape_text(at_rank_4(graph.value(region.interface_value).shape)));
        found.fixes.push_back(std::move(fix));
      }
    }
    results.push_back(std::move(found));
  }
  return results;
}

}  // namespace md
