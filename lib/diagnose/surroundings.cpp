#include "lib/diagnose/surroundings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

#include "lib/eval/fold.h"
#include "lib/graph/encode.h"
#include "lib/op/work.h"

namespace md {
namespace {

constexpr int kLevels = 6;  // producers above the patch: as far as proofs look for reasons
constexpr std::size_t kMaxProducers = 256;
constexpr std::size_t kMaxReaders = 8;  // of one value: targets ask whether there is one or more

/// Grows the set of nodes of one excerpt.
class Cutting {
 public:
  Cutting(const Graph& graph, const std::vector<char>& constant_only)
      : graph_(graph), constant_only_(constant_only) {}

  void add_site(const Patch& patch) {
    for (const NodeId id : patch.removed) add_core(id);
    for (const Rewire& rewire : patch.rewires) add_core(rewire.node), touch(rewire.value);
    for (const NodeChange& change : patch.node_changes) {
      add_core(change.node);
      for (const auto& output : change.outputs) touch(output.second);
    }
    for (const Node& node : patch.new_nodes) {
      for (const ValueId v : node.inputs) touch(v);
      for (const ValueId v : node.outputs) touch(v);
    }
    for (const ValueChange& change : patch.value_changes) {
      touch(change.value);
      if (change.value < 0) continue;
      if (graph_.producer(change.value) != none_id) add_core(graph_.producer(change.value));
      for (const Use& use : graph_.uses(change.value)) add_core(use.node);
    }
  }

  void add_surroundings() {
    const std::set<ValueId> border = values_;
    for (const ValueId v : border) {
      const auto uses = graph_.uses(v);
      for (std::size_t i = 0; i < uses.size() && i < kMaxReaders; ++i) add(uses[i].node);
    }
    std::vector<ValueId> level(values_.begin(), values_.end());
    std::size_t added = 0;
    for (int i = 0; i < kLevels; ++i) {
      std::vector<ValueId> next;
      for (const ValueId v : level) {
        const NodeId producer = graph_.producer(v);
        if (producer == none_id || nodes_.contains(producer) || added >= kMaxProducers) continue;
        add(producer), ++added;
        for (const ValueId input : graph_.node(producer).inputs)
          if (input != none_id) next.push_back(input);
      }
      level = std::move(next);
    }
    // What is computed from constants alone can be folded only when all of it is there.
    std::vector<ValueId> open(values_.begin(), values_.end());
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      const NodeId producer = graph_.producer(v);
      if (producer == none_id || !constant_only_[static_cast<std::size_t>(v)] || !add(producer)) continue;
      for (const ValueId input : graph_.node(producer).inputs)
        if (input != none_id) open.push_back(input);
    }
  }

  const std::set<NodeId>& nodes() const { return nodes_; }
  const std::set<ValueId>& values() const { return values_; }

 private:
  void touch(ValueId v) {
    if (v >= 0 && static_cast<std::size_t>(v) < graph_.values.size()) values_.insert(v);
  }
  bool add(NodeId id) {
    if (!nodes_.insert(id).second) return false;
    const Node& node = graph_.node(id);
    for (const auto* list : {&node.inputs, &node.outputs, &node.intermediates})
      for (const ValueId v : *list) touch(v);
    return true;
  }
  void add_core(NodeId id) {
    if (graph_.is_live(id)) add(id);
  }

  const Graph& graph_;
  const std::vector<char>& constant_only_;
  std::set<NodeId> nodes_;
  std::set<ValueId> values_;
};

/// Old ids to new ones; ids of values that a patch adds stay what they are, ids of nothing stay ids of
/// nothing.
class Renaming {
 public:
  explicit Renaming(const std::set<std::int32_t>& ids) {
    for (const std::int32_t id : ids) new_ids_.emplace(id, static_cast<std::int32_t>(new_ids_.size()));
  }
  std::int32_t operator()(std::int32_t id) const {
    if (id < 0) return id;
    const auto at = new_ids_.find(id);
    return at == new_ids_.end() ? std::numeric_limits<std::int32_t>::max() : at->second;
  }
  void apply(std::vector<std::int32_t>& ids) const {
    for (std::int32_t& id : ids) id = (*this)(id);
  }

 private:
  std::unordered_map<std::int32_t, std::int32_t> new_ids_;
};

void rename_node(Node& node, const Renaming& values) {
  values.apply(node.inputs), values.apply(node.outputs), values.apply(node.intermediates);
}

Patch renamed(Patch patch, const Renaming& nodes, const Renaming& values) {
  for (Node& node : patch.new_nodes) rename_node(node, values);
  nodes.apply(patch.removed);
  for (Rewire& rewire : patch.rewires) rewire.node = nodes(rewire.node), rewire.value = values(rewire.value);
  for (NodeChange& change : patch.node_changes) {
    change.node = nodes(change.node);
    for (auto& output : change.outputs) output.second = values(output.second);
  }
  for (ValueChange& change : patch.value_changes) change.value = values(change.value);
  return patch;
}

Graph cut_out(const Graph& graph, const Cutting& cutting, const std::vector<std::int32_t>& position,
              const Renaming& nodes, const Renaming& values) {
  Graph part;
  part.dialect = graph.dialect;
  part.name = graph.name;
  for (const ValueId v : cutting.values()) {
    part.values.push_back(graph.value(v));
    const NodeId producer = graph.producer(v);
    if (graph.is_input(v) || (producer != none_id && !cutting.nodes().contains(producer)))
      part.inputs.push_back(values(v));
    const auto uses = graph.uses(v);
    if (graph.is_output(v) || std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
          return !cutting.nodes().contains(use.node);
        }))
      part.outputs.push_back(values(v));
  }
  std::vector<NodeId> order(cutting.nodes().begin(), cutting.nodes().end());
  for (const NodeId id : order) {
    part.nodes.push_back(graph.node(id));
    rename_node(part.nodes.back(), values);
  }
  std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
    return position[static_cast<std::size_t>(a)] < position[static_cast<std::size_t>(b)];
  });
  for (const NodeId id : order) part.order.push_back(nodes(id));
  return part;
}

}  // namespace

Surroundings::Surroundings(const Model& model) : model_(model) {
  for (const Graph& graph : model.graphs) {
    std::vector<char> known(graph.values.size(), 0);
    for (std::size_t v = 0; v < known.size(); ++v) known[v] = graph.values[v].is_constant();
    for (const NodeId id : graph.order) {
      const Node& node = graph.node(id);
      if (depends_on_state(graph, node) ||
          !std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId v) { return v == none_id || known[static_cast<std::size_t>(v)] != 0; }))
        continue;
      for (const ValueId v : node.outputs)
        if (v >= 0 && !graph.value(v).is_variable) known[static_cast<std::size_t>(v)] = 1;
    }
    constant_only_.push_back(std::move(known));
    std::vector<std::int32_t> position(graph.nodes.size(), -1);
    for (std::size_t i = 0; i < graph.order.size(); ++i)
      position[static_cast<std::size_t>(graph.order[i])] = static_cast<std::int32_t>(i);
    position_.push_back(std::move(position));
    past_f16_.emplace_back(graph.values.size(), static_cast<signed char>(-1));
  }
}

Excerpt Surroundings::around(const Patch& patch) const {
  if (patch.graph < 0 || static_cast<std::size_t>(patch.graph) >= model_.graphs.size() ||
      patch.graph_inputs || patch.graph_outputs)
    return {model_, patch};
  const auto g = static_cast<std::size_t>(patch.graph);
  const Graph& graph = model_.graphs[g];
  Cutting cutting(graph, constant_only_[g]);
  cutting.add_site(patch);
  cutting.add_surroundings();
  const Renaming nodes(cutting.nodes()), values(cutting.values());
  Excerpt excerpt;
  excerpt.model.dialect = model_.dialect;
  const bool calls = std::any_of(cutting.nodes().begin(), cutting.nodes().end(),
                                 [&](NodeId id) { return !graph.node(id).subgraphs.empty(); }) ||
                     std::any_of(patch.new_nodes.begin(), patch.new_nodes.end(),
                                 [](const Node& node) { return !node.subgraphs.empty(); });
  if (calls)
    excerpt.model.graphs = model_.graphs;
  else
    excerpt.model.graphs.resize(model_.graphs.size());
  excerpt.model.graphs[g] = cut_out(graph, cutting, position_[g], nodes, values);
  for (Graph& each : excerpt.model.graphs) each.index();
  excerpt.patch = renamed(patch, nodes, values);
  return excerpt;
}

bool Surroundings::reaches_past_f16(int graph_index, ValueId value) {
  constexpr double largest_half = 65504;
  const Graph& graph = model_.graphs[static_cast<std::size_t>(graph_index)];
  std::vector<signed char>& past_f16 = past_f16_[static_cast<std::size_t>(graph_index)];
  std::vector<ValueId> open = {value};
  while (!open.empty()) {  // depth first; a value is settled when all that it is computed from is
    const ValueId v = open.back();
    const auto at = static_cast<std::size_t>(v);
    if (past_f16[at] >= 0) {
      open.pop_back();
      continue;
    }
    const Value& here = graph.value(v);
    if (here.is_constant()) {
      past_f16[at] = 0;
      if (is_float(here.dtype))
        if (const auto numbers = decode(here))
          past_f16[at] = std::any_of(numbers->begin(), numbers->end(), [](double x) {
            return !std::isfinite(x) || std::fabs(x) > largest_half;
          });
      continue;
    }
    const NodeId producer = graph.producer(v);
    bool waiting = false, found = false;
    if (producer != none_id)
      for (const ValueId input : graph.node(producer).inputs) {
        if (input == none_id) continue;
        const signed char state = past_f16[static_cast<std::size_t>(input)];
        found = found || state == 1;
        if (state >= 0) continue;
        waiting = true;
        open.push_back(input);
      }
    if (found)
      past_f16[at] = 1;
    else if (!waiting)
      past_f16[at] = 0;
  }
  return past_f16[static_cast<std::size_t>(value)] == 1;
}

bool Surroundings::nonfinite_may_reach(const Patch& patch) {
  const Graph& graph = model_.graphs[static_cast<std::size_t>(patch.graph)];
  const auto any_past_f16 = [&](const std::vector<ValueId>& values) {
    return std::any_of(values.begin(), values.end(),
                       [&](ValueId v) { return v >= 0 && reaches_past_f16(patch.graph, v); });
  };
  return std::any_of(patch.removed.begin(), patch.removed.end(),
                     [&](NodeId id) { return any_past_f16(graph.node(id).inputs); }) ||
         std::any_of(patch.new_nodes.begin(), patch.new_nodes.end(),
                     [&](const Node& node) { return any_past_f16(node.inputs); }) ||
         std::any_of(patch.rewires.begin(), patch.rewires.end(),
                     [&](const Rewire& rewire) { return any_past_f16(graph.node(rewire.node).inputs); });
}

std::int64_t Surroundings::total_work() {
  if (total_work_ < 0) total_work_ = total_multiply_adds(model_);
  return total_work_;
}

}  // namespace md
