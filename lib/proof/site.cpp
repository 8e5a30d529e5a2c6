#include "lib/proof/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "lib/eval/fold.h"
#include "lib/op/ops.h"

namespace md {
namespace {

bool same_constant(const std::optional<Constant>& a, const std::optional<Constant>& b) {
  if (a.has_value() != b.has_value()) return false;
  if (!a) return true;
  if (a->bytes.size() != b->bytes.size()) return false;
  return a->bytes.data() == b->bytes.data() || std::equal(a->bytes.begin(), a->bytes.end(), b->bytes.begin());
}

bool same_value(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.quantization == b.quantization &&
         same_constant(a.constant, b.constant);
}

bool same_node(const Node& a, const Node& b) {
  return a.op == b.op && a.custom == b.custom && a.inputs == b.inputs && a.outputs == b.outputs &&
         a.attrs == b.attrs && a.subgraphs == b.subgraphs;
}

using NodeSet = std::unordered_set<NodeId>;

std::vector<NodeId> in_order(const Graph& graph, const NodeSet& nodes) {
  std::vector<NodeId> ordered;
  for (const NodeId id : graph.order)
    if (nodes.count(id)) ordered.push_back(id);
  return ordered;
}

bool exists(const Graph& graph, ValueId v) {
  return v >= 0 && static_cast<std::size_t>(v) < graph.values.size();
}

bool made_inside(const Graph& graph, const NodeSet& nodes, ValueId v) {
  if (!exists(graph, v)) return false;
  const NodeId producer = graph.producer(v);
  return producer != none_id && nodes.count(producer) != 0;
}

/// Fills in everything that follows from the two node sets.
Site bounded(const Model& before, const Model& after, int graph_index, const NodeSet& old_nodes,
             const NodeSet& new_nodes, std::set<std::pair<ValueId, ValueId>> outputs = {}) {
  const Graph& a = before.graphs[static_cast<std::size_t>(graph_index)];
  const Graph& b = after.graphs[static_cast<std::size_t>(graph_index)];
  Site site;
  site.graph = graph_index;
  site.before = in_order(a, old_nodes);
  site.after = in_order(b, new_nodes);

  // A value that only the new graph has stands for another one of the old: it is in `outputs` with that.
  const auto compare_at = [&](ValueId v) {
    if (exists(a, v) && (made_inside(a, old_nodes, v) || made_inside(b, new_nodes, v)))
      outputs.insert({v, v});
  };
  for (const NodeId id : b.order)
    if (!new_nodes.count(id))
      for (const ValueId v : b.node(id).inputs) compare_at(v);
  for (std::size_t i = 0; i < a.outputs.size() && i < b.outputs.size(); ++i)
    if (a.outputs[i] != b.outputs[i] || made_inside(a, old_nodes, a.outputs[i]) ||
        made_inside(b, new_nodes, b.outputs[i]))
      outputs.insert({a.outputs[i], b.outputs[i]});
  // What a buffer holds afterwards counts as well. A program that wrote into its buffer in place had no node
  // for it: there the buffer itself is looked at.
  for (const NodeId id : b.order) {
    const Node& node = b.node(id);
    if (node.op != "buffer_mutation" || node.inputs.size() != 2) continue;
    ValueId was = node.inputs[0];
    for (const NodeId old : a.order)
      if (a.node(old).op == node.op && a.node(old).inputs.size() == 2 && a.node(old).inputs[0] == was) {
        was = a.node(old).inputs[1];
        break;
      }
    const ValueId now = node.inputs[1];
    if (new_nodes.count(id) || made_inside(a, old_nodes, was) || made_inside(b, new_nodes, now))
      outputs.insert({was, now});
  }
  site.outputs.assign(outputs.begin(), outputs.end());

  std::set<ValueId> reads;
  const auto read = [&](const Graph& graph, const NodeSet& nodes, ValueId v) {
    if (v != none_id && !graph.value(v).is_constant() && !made_inside(graph, nodes, v)) reads.insert(v);
  };
  for (const NodeId id : site.before)
    for (const ValueId v : a.node(id).inputs) read(a, old_nodes, v);
  for (const NodeId id : site.after)
    for (const ValueId v : b.node(id).inputs) read(b, new_nodes, v);
  for (const auto& [x, y] : site.outputs) read(a, old_nodes, x), read(b, new_nodes, y);
  for (const ValueId v : reads) {
    const bool old_value = static_cast<std::size_t>(v) < a.values.size();
    (old_value && depends_on_constants_only(a, v) ? site.folded : site.inputs).push_back(v);
  }
  return site;
}

}  // namespace

namespace {

using Pairs = std::set<std::pair<ValueId, ValueId>>;

bool same_declaration(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.quantization == b.quantization;
}

/// Nodes of both graphs that differ; with `rewired`, those that only read other values leave (value before,
/// value after) there instead.
Site changed_site(const Model& before, const Model& after, int graph_index, Pairs* rewired) {
  const Graph& a = before.graphs[static_cast<std::size_t>(graph_index)];
  const Graph& b = after.graphs[static_cast<std::size_t>(graph_index)];
  std::vector<char> changed(std::max(a.values.size(), b.values.size()), 0);
  for (std::size_t v = 0; v < a.values.size() && v < b.values.size(); ++v)
    changed[v] = &a.values[v] != &b.values[v] && !same_value(a.values[v], b.values[v]);
  const auto touches_change = [&](const Node& node) {
    const auto is_changed = [&](ValueId v) {
      return v != none_id && changed[static_cast<std::size_t>(v)] != 0;
    };
    return std::any_of(node.inputs.begin(), node.inputs.end(), is_changed) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), is_changed);
  };
  /// The node reads values that stand for what it read: compare those.
  const auto only_reads_others = [&](const Node& x, const Node& y, Pairs& pairs) {
    if (x.op != y.op || x.custom != y.custom || x.outputs != y.outputs || !(x.attrs == y.attrs) ||
        x.subgraphs != y.subgraphs || x.inputs.size() != y.inputs.size())
      return false;
    for (const ValueId v : x.outputs)
      if (v != none_id && changed[static_cast<std::size_t>(v)]) return false;
    for (std::size_t i = 0; i < x.inputs.size(); ++i) {
      const ValueId u = x.inputs[i], v = y.inputs[i];
      if (u == v && (u == none_id || !changed[static_cast<std::size_t>(u)])) continue;
      if (u == none_id || v == none_id || !same_declaration(a.value(u), b.value(v))) return false;
      pairs.insert({u, v});
    }
    return true;
  };
  NodeSet old_nodes, new_nodes;
  Pairs pairs;
  const std::size_t n = std::max(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < n; ++i) {
    const auto id = static_cast<NodeId>(i);
    const bool was = a.is_live(id), is = b.is_live(id);
    if (was && is && same_node(a.nodes[i], b.nodes[i]) && !touches_change(a.nodes[i])) continue;
    if (rewired && was && is && only_reads_others(a.nodes[i], b.nodes[i], pairs)) continue;
    if (was) old_nodes.insert(id);
    if (is) new_nodes.insert(id);
  }
  if (rewired) *rewired = pairs;
  return bounded(before, after, graph_index, old_nodes, new_nodes, std::move(pairs));
}

/// Writes in place change what other names of the memory hold: operands alone do not tell.
bool writes_in_place(const Graph& graph) {
  return std::any_of(graph.order.begin(), graph.order.end(),
                     [&](NodeId id) { return writes_operand(graph, graph.node(id)); });
}

}  // namespace

std::optional<std::string> unfit_site(const Model& before, const Model& after, const Site& site) {
  const auto g = static_cast<std::size_t>(site.graph);
  if (site.graph < 0 || g >= before.graphs.size() || g >= after.graphs.size())
    return fmt::format("there is no graph {}", site.graph);
  const Graph &a = before.graphs[g], &b = after.graphs[g];
  const auto live = [](const Graph& graph, const std::vector<NodeId>& nodes) {
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
      return id >= 0 && static_cast<std::size_t>(id) < graph.nodes.size() && graph.is_live(id);
    });
  };
  if (!live(a, site.before) || !live(b, site.after)) return "it names a node that its graph does not have";
  for (const auto& [v, w] : site.outputs)
    if (!exists(a, v) || !exists(b, w))
      return fmt::format("it compares value {} with value {}, and one of them does not exist", v, w);
  for (const ValueId v : site.inputs)
    if (!exists(b, v)) return fmt::format("it reads value {}, which does not exist", v);
  for (const ValueId v : site.folded)
    if (!exists(a, v)) return fmt::format("it folds value {}, which the old version does not have", v);
  return std::nullopt;
}

Site find_site(const Model& before, const Model& after, int graph_index) {
  return changed_site(before, after, graph_index, nullptr);
}

std::optional<Site> find_narrow_site(const Model& before, const Model& after, int graph_index) {
  const auto g = static_cast<std::size_t>(graph_index);
  if (writes_in_place(before.graphs[g]) || writes_in_place(after.graphs[g])) return std::nullopt;
  Pairs rewired;
  Site site = changed_site(before, after, graph_index, &rewired);
  if (rewired.empty()) return std::nullopt;
  return site;
}

Site with_context(const Model& before, const Model& after, const Site& site, int levels, int max_nodes) {
  const Graph& a = before.graphs[static_cast<std::size_t>(site.graph)];
  const Graph& b = after.graphs[static_cast<std::size_t>(site.graph)];
  NodeSet old_nodes(site.before.begin(), site.before.end()), new_nodes(site.after.begin(), site.after.end());
  int added = 0;
  std::vector<ValueId> border = site.inputs;
  for (int level = 0; level < levels && added < max_nodes; ++level) {
    std::vector<ValueId> next;
    for (const ValueId v : border) {
      if (static_cast<std::size_t>(v) >= a.values.size()) continue;
      const NodeId producer = a.producer(v);
      // Only nodes that are the same in both versions and whose results cannot feed back into the site twice.
      if (producer == none_id || added >= max_nodes || b.producer(v) != producer || !b.is_live(producer))
        continue;
      if (!a.node(producer).subgraphs.empty() || old_nodes.count(producer) || new_nodes.count(producer))
        continue;
      old_nodes.insert(producer), new_nodes.insert(producer);
      ++added;
      for (const ValueId input : a.node(producer).inputs)
        if (input != none_id) next.push_back(input);
    }
    border = std::move(next);
  }
  if (added == 0) return site;
  Site wider = bounded(before, after, site.graph, old_nodes, new_nodes);
  wider.context = site.context + added;
  // What the added nodes give to others is the same in both versions as long as it does not depend on the
  // site.
  std::erase_if(wider.outputs, [&](const auto& output) {
    return std::find(site.outputs.begin(), site.outputs.end(), output) == site.outputs.end();
  });
  return wider;
}

}  // namespace md
