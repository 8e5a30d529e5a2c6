#include "lib/graph/queries.h"

#include <algorithm>

namespace md {

const Node* producer_of(const Graph& graph, ValueId id) {
  if (id < 0) return nullptr;
  const NodeId node = graph.producer(id);
  return node == none_id ? nullptr : &graph.node(node);
}

NodeId only_reader(const Graph& graph, ValueId id) {
  NodeId reader = none_id;
  for (const Use& use : graph.uses(id)) {
    if (reader != none_id && reader != use.node) return none_id;
    reader = use.node;
  }
  return reader;
}

bool is_private(const Graph& graph, ValueId id) {
  return !graph.is_output(id) && only_reader(graph, id) != none_id;
}

bool is_static(const Value& value) {
  return std::all_of(value.shape.begin(), value.shape.end(), [](std::int64_t d) { return d >= 0; });
}

}  // namespace md
