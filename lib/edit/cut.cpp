#include "lib/edit/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/base/nearest.h"

namespace md {
namespace {

Result<std::set<ValueId>> find_values(const Graph& graph, const std::vector<std::string>& names) {
  std::set<ValueId> found;
  for (const std::string& name : names) {
    const auto at = std::find_if(graph.values.begin(), graph.values.end(),
                                 [&](const Value& value) { return value.name == name; });
    if (at == graph.values.end()) {
      std::vector<std::string> known;
      for (const Value& value : graph.values)
        if (!value.is_constant()) known.push_back(value.name);
      return usage_error(fmt::format(
          "--cut-before {}: the main graph has no such value{}; `modeldoctor inspect -v` lists them", name,
          did_you_mean(name, known)));
    }
    const auto id = static_cast<ValueId>(at - graph.values.begin());
    if (at->is_constant()) return usage_error(fmt::format("--cut-before {}: is a constant", name));
    if (graph.uses(id).empty())
      return usage_error(fmt::format("--cut-before {}: nothing lies behind it", name));
    found.insert(id);
  }
  return found;
}

/// Nodes that read one of the values, directly or through other nodes.
std::set<NodeId> nodes_behind(const Graph& graph, const std::set<ValueId>& values) {
  std::set<NodeId> behind;
  std::set<ValueId> tainted = values;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return tainted.contains(v); }))
      continue;
    behind.insert(id);
    tainted.insert(node.outputs.begin(), node.outputs.end());
  }
  return behind;
}

/// Removes what reaches no output any more.
void drop_unused(Graph& graph) {
  std::set<ValueId> needed(graph.outputs.begin(), graph.outputs.end());
  std::vector<NodeId> kept;
  for (auto at = graph.order.rbegin(); at != graph.order.rend(); ++at) {
    const Node& node = graph.node(*at);
    // A node without results is there for its effect (an assignment to a state).
    const bool used = node.outputs.empty() || std::any_of(node.outputs.begin(), node.outputs.end(),
                                                          [&](ValueId v) { return needed.contains(v); });
    if (!used) continue;
    kept.push_back(*at);
    needed.insert(node.inputs.begin(), node.inputs.end());
  }
  graph.order.assign(kept.rbegin(), kept.rend());
}

}  // namespace

Result<Model> cut_before(const Model& model, const std::vector<std::string>& values) {
  Model cut = model;
  if (cut.graphs.empty()) return usage_error("--cut-before: the model has no graph");
  Graph& graph = cut.graphs[0];
  auto found = find_values(graph, values);
  if (!found) return tl::make_unexpected(found.error());
  const std::set<NodeId> behind = nodes_behind(graph, *found);
  const auto lost = [&](ValueId id) {
    return id >= 0 && graph.producer(id) != none_id && behind.contains(graph.producer(id));
  };
  std::set<ValueId> gone;
  for (const ValueId id : graph.outputs)
    if (lost(id)) gone.insert(id);
  std::erase_if(graph.outputs, lost);
  for (ModelSignature& signature : cut.signatures) {
    if (signature.graph != 0) continue;
    std::erase_if(signature.outputs, [&](const auto& output) { return gone.contains(output.second); });
    for (const ValueId id : *found)
      if (std::none_of(signature.outputs.begin(), signature.outputs.end(),
                       [&](const auto& output) { return output.second == id; }))
        signature.outputs.push_back({graph.value(id).name, id});
  }
  for (const ValueId id : *found)
    if (std::find(graph.outputs.begin(), graph.outputs.end(), id) == graph.outputs.end())
      graph.outputs.push_back(id);
  std::erase_if(graph.order, [&](NodeId id) { return behind.contains(id); });
  drop_unused(graph);
  graph.index();
  if (auto broken = broken_invariant(graph)) return fail(Error::Kind::internal, "--cut-before: " + *broken);
  return cut;
}

}  // namespace md
