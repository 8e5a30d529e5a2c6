#include "lib/rewrite/rank_region.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "lib/base/disjoint_sets.h"
#include "lib/rewrite/rank_lowering.h"

namespace md {

namespace {

bool is_wide(const Graph& graph, ValueId id) {
  return id >= 0 && graph.value(id).rank() > 4 && !graph.value(id).is_constant();
}

std::string unfit_reason(const Graph& graph, const RankRegion& region) {
  for (const NodeId id : region.nodes) {
    const Node& node = graph.node(id);
    for (const auto* list : {&node.inputs, &node.outputs})
      for (const ValueId v : *list) {
        if (v < 0) continue;
        const auto count = element_count(graph.value(v).shape);
        if (!count)
          return fmt::format("the shape of \"{}\" is not known before run time", graph.value(v).name);
        if (*count == 0) return fmt::format("\"{}\" has no elements", graph.value(v).name);
      }
  }
  return "";
}

}  // namespace

std::vector<RankRegion> rank_regions(const Graph& graph) {
  DisjointSets groups(graph.nodes.size());
  std::vector<NodeId> member(graph.nodes.size(), 0);
  std::vector<NodeId> first_node(graph.values.size(), none_id);
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    for (const auto* list : {&node.inputs, &node.outputs})
      for (const ValueId v : *list) {
        if (!is_wide(graph, v)) continue;
        member[static_cast<std::size_t>(id)] = 1;
        NodeId& first = first_node[static_cast<std::size_t>(v)];
        if (first == none_id) first = id;
        groups.join(static_cast<std::size_t>(first), static_cast<std::size_t>(id));
      }
  }
  std::vector<RankRegion> regions;
  std::vector<int> region_index(graph.nodes.size(), -1);
  for (const NodeId id : graph.order) {
    if (member[static_cast<std::size_t>(id)] == 0) continue;
    int& index = region_index[groups.find(static_cast<std::size_t>(id))];
    if (index < 0) {
      index = static_cast<int>(regions.size());
      regions.emplace_back();
    }
    regions[static_cast<std::size_t>(index)].nodes.push_back(id);
  }
  for (RankRegion& region : regions) region = region_of(graph, std::move(region.nodes));
  return regions;
}

RankRegion region_of(const Graph& graph, std::vector<NodeId> nodes) {
  RankRegion region;
  region.nodes = std::move(nodes);
  std::set<ValueId> seen;
  for (const NodeId id : region.nodes) {
    const Node& node = graph.node(id);
    for (const auto* list : {&node.inputs, &node.outputs})
      for (const ValueId v : *list) {
        if (!is_wide(graph, v) || !seen.insert(v).second) continue;
        region.wide.push_back(v);
        if (graph.is_input(v) || graph.is_output(v)) region.interface_value = v;
      }
  }
  region.unfit = unfit_reason(graph, region);
  return region;
}

LoweredRegion lower_region(const Graph& graph, int graph_index, const RankRegion& region,
                           const std::string& title, bool narrow_interface) {
  LoweredRegion result;
  result.culprit = region.nodes.front();
  result.reason = region.unfit;
  if (!result.reason.empty()) return result;
  std::set<ValueId> narrow;
  for (const ValueId v : region.wide)
    if (graph.is_input(v) || graph.is_output(v)) narrow.insert(v);
  if (!narrow.empty() && !narrow_interface) {
    const Value& v = graph.value(*narrow.begin());
    result.reason = fmt::format(
        "\"{}\" ({}) is {} of the model, and the accelerator takes no tensor of rank {}", v.name,
        shape_text(v.shape), graph.is_output(*narrow.begin()) ? "an output" : "an input", v.rank());
    return result;
  }
  PatchBuilder patch(graph, graph_index, title);
  RankLowering lowering(graph, patch, {region.nodes.begin(), region.nodes.end()}, narrow);
  for (const NodeId id : region.nodes) {
    if (!lowering.lower(id)) {
      result.reason = lowering.reason();
      result.culprit = id;
      return result;
    }
    patch.remove(id);
  }
  for (const ValueId v : narrow) {
    ValueChange change;
    change.value = v;
    change.shape = at_rank_4(graph.value(v).shape);
    patch.change(std::move(change));
  }
  result.reorders_sums = lowering.reorders_sums();
  result.patch = patch.take();
  return result;
}

}  // namespace md
