// GATHER_ND with indices that are constant, or made from constants: slices, mirrors, a GATHER, or slices
// joined again.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/eval/fold.h"
#include "lib/rewrite/constant_gather.h"
#include "lib/rewrite/unused_nodes.h"
#include "lib/rule/page/detector.h"
#include "rules/litert/linear_fixes.h"

namespace md {

namespace {

/// Several GATHER_ND whose index chains share nodes are mended together: the chain goes with the last of
/// them.
std::vector<std::vector<NodeId>> sites(const DetectContext& context) {
  const Graph& graph = context.graph;
  const std::vector<NodeId> others = gathers_of_linear_sites(context.model, context.graph_index);
  std::map<NodeId, std::size_t> owner;
  std::vector<std::vector<NodeId>> groups;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (node.op != "GATHER_ND" || node.inputs.size() < 2 || node.outputs.empty()) continue;
    if (std::find(others.begin(), others.end(), id) != others.end()) continue;  // LRT002, LRT003
    if (!depends_on_constants_only(graph, node.inputs[1]) || depends_on_constants_only(graph, node.inputs[0]))
      continue;
    std::size_t group = groups.size();
    std::vector<NodeId> chain, pending{graph.producer(node.inputs[1])};
    while (!pending.empty()) {
      const NodeId maker = pending.back();
      pending.pop_back();
      if (maker == none_id || std::find(chain.begin(), chain.end(), maker) != chain.end()) continue;
      chain.push_back(maker);
      if (const auto known = owner.find(maker); known != owner.end()) group = std::min(group, known->second);
      for (const ValueId in : graph.node(maker).inputs)
        if (in >= 0) pending.push_back(graph.producer(in));
    }
    for (const NodeId maker : chain) owner.emplace(maker, group);
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(id);
  }
  return groups;
}

}  // namespace

std::vector<DetectResult> LRT001(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const std::vector<NodeId>& site : sites(context)) {
    DetectResult found;
    found.nodes = site;
    const std::vector<NodeId> chain = only_needed_by(graph, site);
    found.nodes.insert(found.nodes.end(), chain.begin(), chain.end());
    found.value = graph.node(site.front()).inputs.front();
    std::vector<ConstantGather> gathers;
    for (const NodeId id : site) {
      auto gather = constant_gather(context.model, context.graph_index, id, found.reason);
      if (!gather) break;
      gathers.push_back(std::move(*gather));
    }
    if (gathers.size() != site.size()) {
      found.state = DetectResult::State::declined;
      results.push_back(std::move(found));
      continue;
    }
    const ConstantGather& first = gathers.front();
    found.message = fmt::format("a constant list picks {} of {} rows of \"{}\"", first.list.size(),
                                first.rows, graph.value(found.value).name);
    std::vector<RowPicker> pickers{RowPicker::moves, RowPicker::gather, RowPicker::pieces};
    if (!takes_constant_gather(context.target)) std::swap(pickers[1], pickers[2]);
    for (const RowPicker picker : pickers) {
      auto fix = gather_fix(context, gathers, picker);
      if (!fix) continue;
      const bool known = std::any_of(found.fixes.begin(), found.fixes.end(), [&](const ProposedFix& other) {
        return other.patch.title == fix->patch.title;
      });
      if (!known) found.fixes.push_back(std::move(*fix));
    }
    results.push_back(std::move(found));
  }
  return results;
}

}  // namespace md
