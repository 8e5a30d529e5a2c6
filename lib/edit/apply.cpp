#include "lib/edit/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <set>

#include "lib/op/dialect.h"

namespace md {
namespace {

/// Dimensions that are not known before run time keep their symbols, in their order.
void reshape(Value& value, const Shape& shape) {
  std::vector<std::string> symbols;
  for (std::size_t d = 0; d < value.shape.size() && d < value.dim_names.size(); ++d)
    if (value.shape[d] < 0) symbols.push_back(value.dim_names[d]);
  value.dim_names.clear(), value.default_shape.clear();
  value.shape = shape;
  const auto unknown = std::count_if(shape.begin(), shape.end(), [](std::int64_t d) { return d < 0; });
  if (symbols.empty() || static_cast<std::ptrdiff_t>(symbols.size()) != unknown) return;
  value.dim_names.resize(shape.size());
  std::size_t next = 0;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] < 0) value.dim_names[d] = symbols[next++];
}

tl::unexpected<Error> malformed(const Patch& patch, std::string why) {
  return fail(Error::Kind::internal, fmt::format("patch \"{}\": {}", patch.title, why));
}

/// The nodes that a patch changes or removes.
std::vector<NodeId> touched_nodes(const Patch& patch) {
  std::vector<NodeId> ids = patch.removed;
  for (const Rewire& r : patch.rewires) ids.push_back(r.node);
  for (const NodeChange& c : patch.node_changes) ids.push_back(c.node);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// Stable topological order: among the nodes whose operands are ready, the one with the smallest position
/// first.
bool sort_topologically(Graph& graph, const std::vector<double>& position) {
  std::vector<NodeId> producer(graph.values.size(), none_id);
  for (const NodeId id : graph.order)
    for (const ValueId v : graph.node(id).outputs)
      if (v >= 0) producer[static_cast<std::size_t>(v)] = id;
  std::vector<int> waiting(graph.nodes.size(), 0);
  std::vector<std::vector<NodeId>> readers(graph.nodes.size());
  for (const NodeId id : graph.order)
    for (const ValueId v : graph.node(id).inputs) {
      if (v < 0) continue;
      const NodeId p = producer[static_cast<std::size_t>(v)];
      if (p == none_id || p == id) continue;
      readers[static_cast<std::size_t>(p)].push_back(id);
      ++waiting[static_cast<std::size_t>(id)];
    }
  using Entry = std::pair<double, NodeId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (const NodeId id : graph.order)
    if (waiting[static_cast<std::size_t>(id)] == 0) ready.push({position[static_cast<std::size_t>(id)], id});
  std::vector<NodeId> order;
  order.reserve(graph.order.size());
  while (!ready.empty()) {
    const NodeId id = ready.top().second;
    ready.pop();
    order.push_back(id);
    for (const NodeId reader : readers[static_cast<std::size_t>(id)])
      if (--waiting[static_cast<std::size_t>(reader)] == 0)
        ready.push({position[static_cast<std::size_t>(reader)], reader});
  }
  if (order.size() != graph.order.size()) return false;
  graph.order = std::move(order);
  return true;
}

Status apply_one(Graph& graph, const Patch& patch, std::vector<double>& position,
                 std::vector<char>& removed) {
  const auto base = static_cast<ValueId>(graph.values.size());
  const auto known_values = static_cast<ValueId>(graph.values.size());
  const auto known_nodes = static_cast<NodeId>(graph.nodes.size());
  bool good = true;
  const auto resolve = [&](ValueId id) -> ValueId {
    if (id == none_id) return none_id;
    if (is_new_value(id)) {
      if (new_value_index(id) >= patch.new_values.size()) good = false;
      return base + static_cast<ValueId>(new_value_index(id));
    }
    if (id >= known_values) good = false;
    return id;
  };
  const auto is_node = [&](NodeId id) {
    return id >= 0 && id < known_nodes && !removed[static_cast<std::size_t>(id)];
  };

  for (Value value : patch.new_values) {
    value.origin = none_id;
    graph.values.push_back(std::move(value));
  }
  double place = -1;
  std::vector<std::int32_t> origins;
  for (const NodeId id : patch.removed) {
    if (!is_node(id)) return malformed(patch, fmt::format("removes node {}, which is not in the graph", id));
    removed[static_cast<std::size_t>(id)] = 1;
    place = std::max(place, position[static_cast<std::size_t>(id)]);
    const Node& old = graph.node(id);
    if (old.origin != none_id) origins.push_back(old.origin);
    origins.insert(origins.end(), old.origins.begin(), old.origins.end());
  }
  for (const NodeChange& change : patch.node_changes) {
    if (!is_node(change.node))
      return malformed(patch, fmt::format("changes node {}, which is not in the graph", change.node));
    Node& node = graph.node(change.node);
    if (change.version) node.version = *change.version;
    for (const auto& [key, value] : change.set_attrs) node.attrs.set(key, value);
    for (const auto& [at, value] : change.outputs) {
      if (at < 0 || static_cast<std::size_t>(at) >= node.outputs.size())
        return malformed(patch, "changes an output that does not exist");
      node.outputs[static_cast<std::size_t>(at)] = resolve(value);
    }
    place = std::max(place, position[static_cast<std::size_t>(change.node)]);
  }
  for (const Rewire& rewire : patch.rewires) {
    if (!is_node(rewire.node))
      return malformed(patch, fmt::format("rewires node {}, which is not in the graph", rewire.node));
    Node& node = graph.node(rewire.node);
    if (rewire.operand < 0 || static_cast<std::size_t>(rewire.operand) >= node.inputs.size())
      return malformed(patch, fmt::format("rewires operand {} of node {}, which has {}", rewire.operand,
                                          rewire.node, node.inputs.size()));
    node.inputs[static_cast<std::size_t>(rewire.operand)] = resolve(rewire.value);
    if (place < 0) place = position[static_cast<std::size_t>(rewire.node)] - 0.5;
  }
  for (const ValueChange& change : patch.value_changes) {
    if (change.value < 0 || change.value >= known_values)
      return malformed(patch, fmt::format("changes value {}, which is not in the graph", change.value));
    Value& value = graph.value(change.value);
    if (change.name) value.name = *change.name;
    if (change.dtype) value.dtype = *change.dtype;
    if (change.shape) reshape(value, *change.shape);
    if (change.quantization) value.quantization = *change.quantization;
    if (change.constant) value.constant = *change.constant;
  }
  std::sort(origins.begin(), origins.end());
  origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
  double step = 0;
  for (Node node : patch.new_nodes) {
    for (ValueId& v : node.inputs) v = resolve(v);
    for (ValueId& v : node.outputs) v = resolve(v);
    node.origin = none_id;
    if (node.origins.empty()) node.origins = origins;
    graph.order.push_back(static_cast<NodeId>(graph.nodes.size()));
    step += 1e-6;
    position.push_back(place + step);
    removed.push_back(0);
    graph.nodes.push_back(std::move(node));
  }
  const auto interface = [&](const std::optional<std::vector<ValueId>>& from, std::vector<ValueId>& to) {
    if (!from) return;
    to.clear();
    for (const ValueId v : *from) to.push_back(resolve(v));
  };
  interface(patch.graph_inputs, graph.inputs);
  interface(patch.graph_outputs, graph.outputs);
  if (!good) return malformed(patch, "names a value that does not exist");
  return {};
}

/// Signatures name interface values: entries follow their position when the interface changes, added values
/// get entries named after themselves.
void follow_interface(std::vector<std::pair<std::string, ValueId>>& entries,
                      const std::vector<ValueId>& before, const std::vector<ValueId>& after,
                      const Graph& graph) {
  std::vector<char> taken(before.size(), 0);
  std::vector<std::pair<std::string, ValueId>> kept;
  for (auto& [name, value] : entries)
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i] != value || taken[i]) continue;
      taken[i] = 1;
      if (i < after.size()) kept.emplace_back(std::move(name), after[i]);
      break;
    }
  for (std::size_t i = before.size(); i < after.size(); ++i)
    kept.emplace_back(graph.value(after[i]).name, after[i]);
  entries = std::move(kept);
}

}  // namespace

bool overlap(const Patch& a, const Patch& b) {
  const auto both = [&](auto member) { return !(a.*member).empty() && !(b.*member).empty(); };
  if ((a.format_version && b.format_version) || both(&Patch::operator_sets)) return true;
  if (std::any_of(a.repairs.begin(), a.repairs.end(), [&](const Repair& repair) {
        return std::find(b.repairs.begin(), b.repairs.end(), repair) != b.repairs.end();
      }))
    return true;
  if (a.graph != b.graph) return false;
  const auto in_common = [](const auto& x, const auto& y) {
    for (auto i = x.begin(), j = y.begin(); i != x.end() && j != y.end();) {
      if (*i == *j) return true;
      if (*i < *j)
        ++i;
      else
        ++j;
    }
    return false;
  };
  if (in_common(touched_nodes(a), touched_nodes(b))) return true;
  const auto values_of = [](const Patch& p) {
    std::set<ValueId> ids;
    for (const ValueChange& c : p.value_changes) ids.insert(c.value);
    for (const Node& n : p.new_nodes)
      for (const ValueId v : n.outputs)
        if (v >= 0) ids.insert(v);
    return ids;
  };
  if (in_common(values_of(a), values_of(b))) return true;
  return (a.graph_inputs && b.graph_inputs) || (a.graph_outputs && b.graph_outputs);
}

namespace {

const OperatorSet* set_of(const Model& model, std::string_view domain) {
  for (const OperatorSet& set : model.operator_sets)
    if (set.domain == domain) return &set;
  return nullptr;
}

/// What a patch says of the file; nodes follow the sets that it changes.
Status change_file(Model& model, const Patch& patch) {
  if (patch.format_version) model.format_version = *patch.format_version;
  for (const OperatorSet& wanted : patch.operator_sets) {
    const auto has_domain = [&](const OperatorSet& set) { return set.domain == wanted.domain; };
    if (wanted.version == 0) {
      std::erase_if(model.operator_sets, has_domain);
      continue;
    }
    const auto at = std::find_if(model.operator_sets.begin(), model.operator_sets.end(), has_domain);
    if (at == model.operator_sets.end())
      model.operator_sets.push_back(wanted);
    else
      at->version = wanted.version;
    for (Graph& graph : model.graphs)
      for (const NodeId id : graph.order) {
        Node& node = graph.node(id);
        if (node.custom != wanted.domain || !model.dialect) continue;
        const bool leaves = &graph == &model.graphs[static_cast<std::size_t>(patch.graph)] &&
                            std::find(patch.removed.begin(), patch.removed.end(), id) != patch.removed.end();
        if (leaves) continue;
        const auto version = version_in_set(*model.dialect, node.op, wanted.version);
        if (!version)
          return malformed(patch, fmt::format("version {} of the operator set \"{}\" has no {}",
                                              wanted.version, wanted.domain, node.op));
        node.version = *version;
      }
  }
  for (const Repair& repair : patch.repairs) std::erase(model.repairs, repair);
  return {};
}

/// New nodes that ask for the version that the file's operator sets give them.
Status settle_versions(Model& model, Graph& graph) {
  if (model.operator_sets.empty() || !model.dialect) return {};
  for (const NodeId id : graph.order) {
    Node& node = graph.node(id);
    const OperatorSet* set = node.version == 0 ? set_of(model, node.custom) : nullptr;
    if (!set) continue;
    const auto version = version_in_set(*model.dialect, node.op, set->version);
    if (!version)
      return fail(Error::Kind::internal,
                  fmt::format("a patch adds {}, which version {} of the operator set \"{}\" lacks", node.op,
                              set->version, set->domain));
    node.version = *version;
  }
  return {};
}

}  // namespace

Result<Model> apply_patches(const Model& model, std::span<const Patch> patches) {
  Model changed = model;
  std::set<int> graphs;
  for (const Patch& patch : patches) {
    graphs.insert(patch.graph);
    if (auto done = change_file(changed, patch); !done) return tl::make_unexpected(done.error());
  }
  for (const int g : graphs) {
    if (g < 0 || static_cast<std::size_t>(g) >= changed.graphs.size())
      return fail(Error::Kind::internal,
                  fmt::format("a patch names graph {}, but the model has {}", g, changed.graphs.size()));
    Graph& graph = changed.graphs[static_cast<std::size_t>(g)];
    const std::vector<ValueId> inputs = graph.inputs, outputs = graph.outputs;
    std::vector<double> position(graph.nodes.size(), -1);
    std::vector<char> removed(graph.nodes.size(), 1);
    for (std::size_t i = 0; i < graph.order.size(); ++i) {
      position[static_cast<std::size_t>(graph.order[i])] = static_cast<double>(i);
      removed[static_cast<std::size_t>(graph.order[i])] = 0;
    }
    for (const Patch& patch : patches)
      if (patch.graph == g)
        if (auto done = apply_one(graph, patch, position, removed); !done)
          return tl::make_unexpected(done.error());
    std::erase_if(graph.order, [&](NodeId id) { return removed[static_cast<std::size_t>(id)] != 0; });
    if (!sort_topologically(graph, position))
      return fail(Error::Kind::internal, fmt::format("the patches make a cycle in graph {}", g));
    if (auto done = settle_versions(changed, graph); !done) return tl::make_unexpected(done.error());
    for (ModelSignature& signature : changed.signatures) {
      if (signature.graph != g) continue;
      if (inputs != graph.inputs) follow_interface(signature.inputs, inputs, graph.inputs, graph);
      if (outputs != graph.outputs) follow_interface(signature.outputs, outputs, graph.outputs, graph);
    }
    graph.index();
    if (auto broken = broken_invariant(graph))
      return fail(Error::Kind::internal, "after the patches: " + *broken);
  }
  return changed;
}

}  // namespace md
