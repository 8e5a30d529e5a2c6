#include "lib/rewrite/inline_graph.h"

#include <algorithm>

#include "lib/op/ops.h"

namespace md {

std::optional<std::vector<ValueId>> inline_graph(PatchBuilder& patch, const Graph& body,
                                                 const std::vector<ValueId>& arguments) {
  if (body.inputs.size() != arguments.size()) return std::nullopt;
  std::vector<ValueId> copies(body.values.size(), none_id);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    copies[static_cast<std::size_t>(body.inputs[i])] = arguments[i];
  const auto copy_of = [&](ValueId id) -> ValueId {
    if (id < 0) return none_id;
    ValueId& copy = copies[static_cast<std::size_t>(id)];
    if (copy == none_id) {
      patch.patch().new_values.push_back(body.value(id));
      copy = new_value(patch.patch().new_values.size() - 1);
    }
    return copy;
  };
  for (const NodeId id : body.order) {
    Node node = body.node(id);
    for (ValueId& v : node.inputs) v = copy_of(v);
    for (ValueId& v : node.outputs) v = copy_of(v);
    node.intermediates.clear();
    node.origin = none_id;
    patch.add_node(std::move(node));
  }
  std::vector<ValueId> results;
  for (const ValueId id : body.outputs) results.push_back(copy_of(id));
  return results;
}

bool is_pure(const Model& model, int graph_index, int depth) {
  if (depth == 0 || graph_index < 0 || static_cast<std::size_t>(graph_index) >= model.graphs.size())
    return false;
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  return std::all_of(graph.order.begin(), graph.order.end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    if (has_state(graph, node)) return false;
    return std::all_of(node.subgraphs.begin(), node.subgraphs.end(),
                       [&](std::int32_t g) { return is_pure(model, g, depth - 1); });
  });
}

}  // namespace md
