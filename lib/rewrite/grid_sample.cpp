#include "lib/rewrite/grid_sample.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/eval/fold.h"

namespace md {

namespace {

/// The FLOOR or ROUND that a part of an index comes from; none_id: none, or several.
NodeId rounding_above(const Graph& graph, ValueId index) {
  static const std::set<std::string, std::less<>> passed = {
      "RESHAPE", "CAST",    "SELECT",       "SELECT_V2", "ADD",         "SUB",
      "MINIMUM", "MAXIMUM", "BROADCAST_TO", "TILE",      "EXPAND_DIMS", "SLICE"};
  NodeId found = none_id;
  std::set<ValueId> seen;
  std::vector<ValueId> pending{index};
  while (!pending.empty()) {
    const ValueId v = pending.back();
    pending.pop_back();
    const NodeId maker = v < 0 || !seen.insert(v).second ? none_id : graph.producer(v);
    if (maker == none_id) continue;
    const Node& node = graph.node(maker);
    if (node.op == "FLOOR" || node.op == "ROUND") {
      if (found != none_id && found != maker) return none_id;
      found = maker;
      continue;
    }
    if (passed.count(node.op) == 0) continue;
    const std::size_t first = node.op.rfind("SELECT", 0) == 0 ? 1 : 0;  // a condition is no index
    for (std::size_t i = first; i < node.inputs.size(); ++i) pending.push_back(node.inputs[i]);
  }
  return found;
}

bool comes_from(const Graph& graph, ValueId value, NodeId wanted) {
  std::set<ValueId> seen;
  std::vector<ValueId> pending{value};
  while (!pending.empty() && seen.size() < 4096) {
    const ValueId v = pending.back();
    pending.pop_back();
    const NodeId maker = v < 0 || !seen.insert(v).second ? none_id : graph.producer(v);
    if (maker == wanted) return true;
    if (maker == none_id) continue;
    pending.insert(pending.end(), graph.node(maker).inputs.begin(), graph.node(maker).inputs.end());
  }
  return false;
}

/// The value in which the taps, each times its weight, have been added up; none_id: something else reads a
/// tap.
ValueId sum_of_taps(const Graph& graph, const std::vector<NodeId>& gathers, NodeId rounding) {
  std::set<ValueId> open;
  for (const NodeId id : gathers) {
    const ValueId tap = graph.node(id).outputs.front();
    if (graph.uses(tap).size() != 1) return gathers.size() == 1 ? tap : none_id;
    const Node& reader = graph.node(graph.uses(tap)[0].node);
    const ValueId weight = reader.op == "MUL" ? reader.inputs[reader.inputs[0] == tap ? 1 : 0] : none_id;
    if (weight == none_id || !comes_from(graph, weight, rounding)) return gathers.size() == 1 ? tap : none_id;
    open.insert(reader.outputs.front());
  }
  while (open.size() > 1) {
    bool joined = false;
    for (const ValueId v : open) {
      if (graph.uses(v).size() != 1) return none_id;
      const Node& reader = graph.node(graph.uses(v)[0].node);
      if (reader.op != "ADD" || open.count(reader.inputs[0]) == 0 || open.count(reader.inputs[1]) == 0)
        continue;
      const ValueId a = reader.inputs[0], b = reader.inputs[1], out = reader.outputs.front();
      open.erase(a), open.erase(b);
      open.insert(out);
      joined = true;
      break;
    }
    if (!joined) return none_id;
  }
  return *open.begin();
}

}  // namespace

std::vector<GridSample> grid_samples(const Graph& graph) {
  std::map<std::tuple<ValueId, NodeId, NodeId>, std::vector<NodeId>> groups;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (node.op != "GATHER_ND" || node.inputs.size() < 2 || graph.value(node.inputs[0]).rank() != 4) continue;
    const Shape& entries = graph.value(node.inputs[1]).shape;
    const NodeId join = graph.producer(node.inputs[1]);
    if (entries.empty() || entries.back() != 4 || join == none_id || graph.node(join).inputs.size() != 4)
      continue;
    if (depends_on_constants_only(graph, node.inputs[1])) continue;
    const auto& parts = graph.node(join).inputs;
    if (!depends_on_constants_only(graph, parts[0]) || !depends_on_constants_only(graph, parts[1])) continue;
    const NodeId y = rounding_above(graph, parts[2]), x = rounding_above(graph, parts[3]);
    if (x != none_id && y != none_id) groups[{node.inputs[0], x, y}].push_back(id);
  }
  std::vector<GridSample> samples;
  for (const auto& [key, gathers] : groups) {
    const auto& [image, x, y] = key;
    if (gathers.size() != 1 && gathers.size() != 4) continue;
    GridSample sample;
    sample.image = image;
    sample.nearest = gathers.size() == 1;
    sample.gathers = gathers;
    sample.x = sample.nearest ? graph.node(x).outputs[0] : graph.node(x).inputs[0];
    sample.y = sample.nearest ? graph.node(y).outputs[0] : graph.node(y).inputs[0];
    sample.result = sum_of_taps(graph, gathers, x);
    if (sample.result != none_id) samples.push_back(std::move(sample));
  }
  return samples;
}

std::set<NodeId> grid_sample_nodes(const Graph& graph) {
  std::set<NodeId> nodes;
  for (const GridSample& sample : grid_samples(graph))
    nodes.insert(sample.gathers.begin(), sample.gathers.end());
  return nodes;
}

}  // namespace md
