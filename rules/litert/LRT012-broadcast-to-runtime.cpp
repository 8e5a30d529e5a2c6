// BROADCAST_TO of a runtime value: left out where its readers broadcast anyway, else a TILE at rank 4
// (rank_region.h).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/edit/builder.h"
#include "lib/eval/fold.h"
#include "lib/op/infer.h"
#include "lib/rewrite/rank_region.h"
#include "lib/rewrite/rank_report.h"
#include "lib/rule/page/detector.h"

namespace md {

namespace {

bool broadcasts(const std::string& op) {
  static const std::set<std::string, std::less<>> names = {"ADD",     "SUB",     "MUL", "DIV",
                                                           "MAXIMUM", "MINIMUM", "POW", "SQUARED_DIFFERENCE"};
  return names.count(op) != 0;
}

/// True when every reader computes the same from the small value: the other operand has the full shape.
bool readers_broadcast(const Graph& graph, ValueId small, ValueId wide) {
  if (graph.is_output(wide) || graph.uses(wide).empty()) return false;
  if (graph.value(small).rank() != graph.value(wide).rank() || graph.value(wide).rank() > 4) return false;
  const auto uses = graph.uses(wide);
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    const Node& reader = graph.node(use.node);
    if (!broadcasts(reader.op) || reader.inputs.size() != 2) return false;
    const ValueId other = reader.inputs[use.operand == 0 ? 1 : 0];
    if (other == wide || other == small || graph.value(other).rank() != graph.value(wide).rank())
      return false;
    const auto shape = broadcast_shape(graph.value(small).shape, graph.value(other).shape);
    return shape && *shape == graph.value(reader.outputs.front()).shape;
  });
}

ProposedFix left_out(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "the reader broadcasts by itself");
  for (const Use& use : context.graph.uses(node.outputs.front()))
    patch.rewire(use.node, use.operand, node.inputs.front());
  patch.remove(id);
  ProposedFix fix;
  fix.patch = patch.take();
  return fix;
}

std::optional<ProposedFix> lowered(const DetectContext& context, const RankRegion& region,
                                   DetectResult& found) {
  LoweredRegion result = lower_region(context.graph, context.graph_index, region, "rank 4", false);
  if (!result.patch) {
    found.reason =
        fmt::format("{} (node {}): {}", context.graph.node(result.culprit).op, result.culprit, result.reason);
    return std::nullopt;
  }
  const std::string chain = moves_in_pytorch(context.graph, *result.patch);
  if (!chain.empty()) found.words["moves"] = chain;
  ProposedFix fix;
  fix.exactness = result.reorders_sums ? Exactness::rounding : Exactness::exact;
  fix.patch = std::move(*result.patch);
  fix.patch.title = lowered_title(fix.patch);
  return fix;
}

}  // namespace

std::vector<DetectResult> LRT012(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  std::set<NodeId> reported;
  const std::vector<RankRegion> regions = rank_regions(graph);
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "BROADCAST_TO" || node.inputs.empty() || reported.count(id) != 0) continue;
    const ValueId small = node.inputs.front(), wide = node.outputs.front();
    if (depends_on_constants_only(graph, small)) continue;
    const auto region = std::find_if(regions.begin(), regions.end(), [&](const RankRegion& r) {
      return std::find(r.nodes.begin(), r.nodes.end(), id) != r.nodes.end();
    });
    DetectResult found;
    found.nodes = {id};
    found.value = wide;
    found.message = fmt::format("{} is expanded to {}", shape_text(graph.value(small).shape),
                                shape_text(graph.value(wide).shape));
    if (region != regions.end()) {
      // One rewrite mends the whole region, and with it every BROADCAST_TO inside.
      for (const NodeId other : region->nodes) {
        if (other != id) found.nodes.push_back(other);
        reported.insert(other);
      }
      if (auto fix = lowered(context, *region, found)) found.fixes.push_back(std::move(*fix));
    } else {
      if (readers_broadcast(graph, small, wide)) found.fixes.push_back(left_out(context, id));
      if (auto fix = lowered(context, region_of(graph, {id}), found)) found.fixes.push_back(std::move(*fix));
    }
    if (found.fixes.empty()) found.state = DetectResult::State::declined;
    results.push_back(std::move(found));
  }
  return results;
}

}  // namespace md
