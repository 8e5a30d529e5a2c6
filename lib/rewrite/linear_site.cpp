#include "lib/rewrite/linear_site.h"

#include <algorithm>
#include <map>

#include "lib/eval/fold.h"

namespace md {

namespace {

/// Follows what the gathers of one source become until everything has come together in one value.
class SiteFinder {
 public:
  SiteFinder(const Graph& graph, ValueId source, std::vector<NodeId> gathers)
      : graph_(graph), source_(source), gathers_(std::move(gathers)) {}

  std::optional<LinearSite> find() {
    std::size_t waiting = gathers_.size();
    bool computes = false;
    std::optional<LinearSite> closed;
    const auto first = std::find(graph_.order.begin(), graph_.order.end(), gathers_.front());
    for (auto it = first; it != graph_.order.end(); ++it) {
      const Node& node = graph_.node(*it);
      const bool is_gather = std::find(gathers_.begin(), gathers_.end(), *it) != gathers_.end();
      if (!is_gather && !reads_open(node)) continue;
      if (!is_gather && !stays_linear(node)) return closed;  // something else reads a part
      if (is_gather) --waiting;
      computes = computes || node.op == "MUL" || node.op == "ADD" || node.op == "SUB" ||
                 node.op.rfind("SELECT", 0) == 0;
      site_.nodes.push_back(*it);
      take(node);
      if (waiting == 0 && computes && open_.size() == 1 && is_closed(open_.begin()->first)) {
        site_.source = source_;
        site_.result = open_.begin()->first;
        site_.gathers = gathers_;
        closed = site_;
        if (graph_.value(site_.result).rank() <= 4)
          return closed;  // else what follows may end at a lower rank
      }
    }
    return closed;
  }

 private:
  bool reads_open(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId v) { return open_.count(v) != 0; });
  }
  bool stays_linear(const Node& node) const {
    if (!LinearForms::is_linear(node) || !is_float(graph_.value(node.outputs[0]).dtype)) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
      return open_.count(v) != 0 || depends_on_constants_only(graph_, v);
    });
  }
  void take(const Node& node) {
    for (const ValueId v : node.inputs)
      if (const auto it = open_.find(v); it != open_.end() && --it->second == 0) open_.erase(it);
    const ValueId out = node.outputs.front();
    open_[out] = static_cast<int>(graph_.uses(out).size()) + (graph_.is_output(out) ? 1 : 0);
  }
  /// Nothing of the value was read inside yet.
  bool is_closed(ValueId v) const {
    return open_.at(v) == static_cast<int>(graph_.uses(v).size()) + (graph_.is_output(v) ? 1 : 0);
  }

  const Graph& graph_;
  ValueId source_;
  std::vector<NodeId> gathers_;
  std::map<ValueId, int> open_;  ///< values with readers that were not met yet
  LinearSite site_;
};

/// The source through transposes that only the site reads.
void extend_upwards(const Graph& graph, LinearSite& site) {
  for (;;) {
    const NodeId maker = graph.producer(site.source);
    if (maker == none_id || graph.node(maker).op != "TRANSPOSE" || graph.is_output(site.source)) return;
    if (!depends_on_constants_only(graph, graph.node(maker).inputs[1])) return;
    const auto uses = graph.uses(site.source);
    const bool own = std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return std::find(site.nodes.begin(), site.nodes.end(), use.node) != site.nodes.end();
    });
    if (!own) return;
    site.nodes.insert(site.nodes.begin(), maker);
    site.source = graph.node(maker).inputs[0];
  }
}

/// What follows the result alone belongs to it while the result has more than four axes, and a transpose
/// behind it too: the product can be written in that order.
void extend_downwards(const Graph& graph, LinearSite& site) {
  for (;;) {
    const auto uses = graph.uses(site.result);
    if (uses.size() != 1 || graph.is_output(site.result)) return;
    const Node& reader = graph.node(uses[0].node);
    const bool wide = graph.value(site.result).rank() > 4;
    if (!LinearForms::is_linear(reader) || (!wide && reader.op != "TRANSPOSE")) return;
    for (const ValueId in : reader.inputs)
      if (in != site.result && !depends_on_constants_only(graph, in)) return;
    site.nodes.push_back(uses[0].node);
    site.result = reader.outputs.front();
    if (!wide) return;
  }
}

}  // namespace

std::vector<LinearSite> linear_sites(const Model& model, int graph_index) {
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  std::map<ValueId, std::vector<NodeId>> by_source;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (node.op != "GATHER_ND" || node.inputs.size() < 2 || !is_float(graph.value(node.inputs[0]).dtype))
      continue;
    if (!element_count(graph.value(node.outputs[0]).shape) ||
        !depends_on_constants_only(graph, node.inputs[1]))
      continue;
    if (depends_on_constants_only(graph, node.inputs[0])) continue;
    by_source[node.inputs[0]].push_back(id);
  }
  std::vector<LinearSite> sites;
  for (auto& [source, gathers] : by_source) {
    auto site = SiteFinder(graph, source, gathers).find();
    if (!site) continue;
    extend_upwards(graph, *site);
    extend_downwards(graph, *site);
    sites.push_back(std::move(*site));
  }
  std::sort(sites.begin(), sites.end(),
            [](const LinearSite& a, const LinearSite& b) { return a.nodes < b.nodes; });
  return sites;
}

}  // namespace md
