#include "lib/rewrite/aten/merge_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

/// axes `at` and `at` + 1 of a shape as one
Shape merged(Shape shape, int at) {
  shape[static_cast<std::size_t>(at)] *= shape[static_cast<std::size_t>(at) + 1];
  shape.erase(shape.begin() + at + 1);
  return shape;
}

bool is_reshape(const std::string& base) {
  return base == "aten.view" || base == "aten.reshape" || base == "aten._unsafe_view" ||
         base == "aten.flatten" || base == "aten.unflatten";
}
bool is_reduction(const std::string& base) {
  return base == "aten.sum" || base == "aten.mean" || base == "aten.amax" || base == "aten.amin" ||
         base == "aten.prod" || base == "aten.any" || base == "aten.all";
}

class Merger {
 public:
  Merger(const DetectContext& context, const std::set<ValueId>& region, std::vector<NodeId> nodes)
      : graph_(context.graph),
        region_(region),
        nodes_(std::move(nodes)),
        b_(context.graph, context.graph_index, "merge two axes that every operator treats alike") {}

  /// Tries to merge axes `at`, `at` + 1 of `first`; the pairs of the other tensors follow.
  std::optional<Patch> run(ValueId first, int at) {
    place_[first] = at;
    for (bool changed = true; changed;) {
      changed = false;
      for (const NodeId id : nodes_)
        if (!spread(graph_.node(id), changed)) return std::nullopt;
    }
    for (const ValueId v : region_) {
      const Value& value = graph_.value(v);
      const auto p = place_.find(v);
      if (p == place_.end()) return std::nullopt;
      const std::int64_t a = value.shape[static_cast<std::size_t>(p->second)],
                         c = value.shape[static_cast<std::size_t>(p->second) + 1];
      if (a < 0 || c < 0) return std::nullopt;
      ValueChange change;
      change.value = v;
      change.shape = merged(value.shape, p->second);
      b_.change(std::move(change));
    }
    for (const NodeId id : nodes_)
      if (!rewrite(id)) return std::nullopt;
    return b_.take();
  }

 private:
  bool in_region(ValueId v) const { return region_.count(v) != 0; }

  bool assign(ValueId v, int at, bool& changed) {
    if (!in_region(v)) return true;
    if (at < 0 || at + 1 >= graph_.value(v).rank()) return false;
    const auto [it, fresh] = place_.emplace(v, at);
    changed = changed || fresh;
    return it->second == at;
  }

  /// Axis of the output that an operand's axis becomes; nullopt where the node's rule is not known.
  std::optional<int> forward(const Node& node, int axis) const {
    const std::string base = aten_base(node.op);
    const int in_rank = graph_.value(node.inputs[0]).rank(), out_rank = graph_.value(node.outputs[0]).rank();
    const auto dim = [&](int rank) { return aten_dim(node, "dim", rank, 0).value_or(-1); };
    if (base == "aten.stack" || base == "aten.unsqueeze") return axis < dim(out_rank) ? axis : axis + 1;
    if (base == "aten.select" || (base == "aten.squeeze" && in_rank == out_rank + 1)) {
      const int d = dim(in_rank);
      return axis == d ? -1 : axis < d ? axis : axis - 1;
    }
    if (base == "aten.slice" || base == "aten.cat" || base == "aten.softmax" || base == "aten._softmax" ||
        base == "aten.flip")
      return base == "aten.flip" || axis == dim(in_rank) ? -1 : axis;
    if (base == "aten.transpose")
      return axis == aten_dim(node, "dim0", in_rank, 0) || axis == aten_dim(node, "dim1", in_rank, 1) ? -1
                                                                                                      : axis;
    if (base == "aten.permute") {
      const auto* dims = node.attrs.integers("dims");
      for (std::size_t i = 0; dims && i < dims->size(); ++i)
        if (((*dims)[i] < 0 ? (*dims)[i] + in_rank : (*dims)[i]) == axis) return static_cast<int>(i);
      return std::nullopt;
    }
    if (is_reduction(base)) {
      const auto dims = aten_dims(node, "dim", in_rank);
      if (!dims || std::find(dims->begin(), dims->end(), axis) != dims->end())
        return dims ? std::optional(-1) : std::nullopt;
      if (in_rank == out_rank) return axis;
      return axis -
             static_cast<int>(std::count_if(dims->begin(), dims->end(), [&](int d) { return d < axis; }));
    }
    return std::nullopt;
  }

  bool spread(const Node& node, bool& changed) {
    const std::string base = aten_base(node.op);
    if (node.outputs.size() != 1) return false;
    const ValueId out = node.outputs[0];
    if (is_reshape(base)) {  // both sides are free
      for (const ValueId v : {node.inputs[0], out})
        if (in_region(v) && !place_.count(v) && free_choice(v))
          place_[v] = graph_.value(v).rank() - 2, changed = true;
      return true;
    }
    if (aten_elementwise(node.op)) return spread_elementwise(node, changed);
    for (const ValueId in : node.inputs) {
      if (in < 0) continue;
      const int rank = graph_.value(in).rank();
      if (const auto known = place_.find(in); known != place_.end()) {
        const auto a = forward(node, known->second), c = forward(node, known->second + 1);
        if (!a || !c) return false;
        if (*a == -1 && *c == -1 && is_reduction(base)) continue;  // both are reduced
        if (*a < 0 || *c != *a + 1 || !assign(out, *a, changed)) return false;
      } else if (const auto wanted = place_.find(out); wanted != place_.end()) {
        int at = -1;
        for (int axis = 0; axis + 1 < rank; ++axis)
          if (forward(node, axis) == wanted->second && forward(node, axis + 1) == wanted->second + 1)
            at = axis;
        if (at < 0 || !assign(in, at, changed)) return false;
      } else if (!forward(node, 0)) {
        return false;
      }
    }
    return true;
  }

  /// A tensor between reshapes only: any pair will do, the last is as good as any.
  bool free_choice(ValueId v) const {
    const auto uses = graph_.uses(v);
    const NodeId maker = graph_.producer(v);
    return (maker == none_id || is_reshape(aten_base(graph_.node(maker).op))) &&
           std::all_of(uses.begin(), uses.end(),
                       [&](const Use& u) { return is_reshape(aten_base(graph_.node(u.node).op)); });
  }

  bool spread_elementwise(const Node& node, bool& changed) {
    const ValueId out = node.outputs[0];
    const int rank = graph_.value(out).rank();
    int from_end = -1;  // axes count from the right, as broadcasting does
    if (place_.count(out)) from_end = rank - place_[out];
    for (const ValueId in : node.inputs)
      if (in >= 0 && place_.count(in)) from_end = graph_.value(in).rank() - place_[in];
    if (from_end < 0) return true;
    if (!assign(out, rank - from_end, changed)) return false;
    for (const ValueId in : node.inputs) {
      if (in < 0) continue;
      const Value& value = graph_.value(in);
      const int at = value.rank() - from_end;
      if (!assign(in, at, changed)) return false;
      if (at + 1 < 0) continue;
      const auto size = [&](const Value& v, int axis) {
        return axis < 0 ? 1 : v.shape[static_cast<std::size_t>(axis)];
      };
      const Value& result = graph_.value(out);
      const bool ones = size(value, at) == 1 && size(value, at + 1) == 1;
      const bool full = size(value, at) == size(result, rank - from_end) &&
                        size(value, at + 1) == size(result, rank - from_end + 1);
      if (!ones && !full) return false;
    }
    return true;
  }

  bool rewrite(NodeId id) {
    const Node& node = graph_.node(id);
    const std::string base = aten_base(node.op);
    const ValueId out = node.outputs[0];
    if (is_reshape(base)) return rewrite_reshape(id);
    if (base == "aten.unsqueeze" && in_region(out)) {
      const int u = aten_dim(node, "dim", graph_.value(out).rank(), 0).value_or(-1);
      if (u == place_[out] || u == place_[out] + 1) return false;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId in = node.inputs[i];
      if (in < 0 || in_region(in)) continue;
      const int at = place_in_operand(node, in);
      if (at < 0) continue;
      if (!element_count(graph_.value(in).shape)) return false;
      b_.rewire(id, static_cast<int>(i), b_.reshape(in, merged(graph_.value(in).shape, at)));
    }
    if (!aten_elementwise(node.op)) renumber(id);
    if (!in_region(out)) return split_behind(id);
    return true;
  }

  /// Where the merged pair lies in an operand that is not of the region itself; -1: it does not hold the
  /// pair.
  int place_in_operand(const Node& node, ValueId in) {
    const ValueId out = node.outputs[0];
    const int rank = graph_.value(in).rank();
    if (aten_elementwise(node.op)) {
      const int at = rank - (graph_.value(out).rank() - place_[out]);
      return at >= 0 ? at : -1;
    }
    for (int axis = 0; axis + 1 < rank; ++axis)
      if (place_.count(out) && forward(node, axis) == place_[out] &&
          forward(node, axis + 1) == place_[out] + 1)
        return axis;
    return -1;
  }

  /// Dimension arguments count axes: those behind the pair move down by one.
  void renumber(NodeId id) {
    const Node& node = graph_.node(id);
    const std::string base = aten_base(node.op);
    const ValueId in = node.inputs[0], out = node.outputs[0];
    const bool counts_output = base == "aten.stack" || base == "aten.unsqueeze";
    const ValueId counted = counts_output ? out : in;
    const int rank = graph_.value(counted).rank();
    const int at = place_.count(counted) ? place_[counted] : place_in_operand(node, in);
    const auto moved = [&](std::int64_t axis) {
      return (axis < 0 ? axis + rank : axis) > at ? (axis < 0 ? axis + rank : axis) - 1
                                                  : (axis < 0 ? axis + rank : axis);
    };
    NodeChange change;
    change.node = id;
    for (const auto& [key, value] : node.attrs) {
      if (key != "dim" && key != "dim0" && key != "dim1" && key != "dims") continue;
      if (const auto* one = std::get_if<std::int64_t>(&value)) change.set_attrs.set(key, moved(*one));
      if (const auto* many = std::get_if<std::vector<std::int64_t>>(&value)) {
        std::vector<std::int64_t> list;
        for (const std::int64_t axis : *many) {
          const std::int64_t normal = axis < 0 ? axis + rank : axis;
          if (normal != at + 1) list.push_back(moved(axis));
        }
        change.set_attrs.set(key, std::move(list));
      }
    }
    if (!change.set_attrs.empty()) b_.change(std::move(change));
  }

  bool rewrite_reshape(NodeId id) {
    const Node& node = graph_.node(id);
    const Value& out = graph_.value(node.outputs[0]);
    if (std::count_if(out.shape.begin(), out.shape.end(), [](std::int64_t d) { return d < 0; }) > 1)
      return false;
    const Shape target = in_region(node.outputs[0]) ? merged(out.shape, place_[node.outputs[0]]) : out.shape;
    b_.remove(id);
    Attributes attrs;
    attrs.set("shape", target);
    b_.write("aten.reshape.default", {{"self", node.inputs[0]}}, std::move(attrs), node.outputs[0]);
    return true;
  }

  /// The result leaves the region: it is computed merged, and gets its own shape by a reshape.
  bool split_behind(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId in = node.inputs[0], out = node.outputs[0];
    const Value& value = graph_.value(out);
    const auto a = forward(node, place_[in]), c = forward(node, place_[in] + 1);
    if (!a || !c || !element_count(value.shape)) return false;
    const bool both_reduced = *a == -1 && *c == -1;
    if (both_reduced && value.rank() != graph_.value(in).rank()) return true;  // nothing of the pair is left
    const int at = both_reduced ? place_[in] : *a;
    const ValueId narrow = b_.add_value(value.name + "_merged", value.dtype, merged(value.shape, at));
    NodeChange change;
    change.node = id;
    change.outputs.emplace_back(0, narrow);
    b_.change(std::move(change));
    b_.result_into(out);
    b_.reshape(narrow, value.shape);
    return true;
  }

  const Graph& graph_;
  const std::set<ValueId>& region_;
  std::vector<NodeId> nodes_;
  AtenBuilder b_;
  std::map<ValueId, int> place_;
};

/// Tensors of high rank that are tied by a node, and the nodes that touch them.
struct Region {
  std::set<ValueId> values;
  std::set<NodeId> nodes;
};

std::vector<Region> find_regions(const Graph& graph, int too_high) {
  std::vector<Region> regions;
  std::set<ValueId> seen;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].rank() < too_high || !seen.insert(static_cast<ValueId>(v)).second) continue;
    Region region;
    std::vector<ValueId> pending{static_cast<ValueId>(v)};
    while (!pending.empty()) {
      const ValueId id = pending.back();
      pending.pop_back();
      region.values.insert(id);
      std::vector<NodeId> around;
      if (graph.producer(id) != none_id) around.push_back(graph.producer(id));
      for (const Use& use : graph.uses(id)) around.push_back(use.node);
      for (const NodeId n : around) {
        region.nodes.insert(n);
        for (const auto* list : {&graph.node(n).inputs, &graph.node(n).outputs})
          for (const ValueId other : *list)
            if (other >= 0 && graph.value(other).rank() >= too_high && seen.insert(other).second)
              pending.push_back(other);
      }
    }
    if (!region.nodes.empty()) regions.push_back(std::move(region));
  }
  return regions;
}

}  // namespace

std::vector<MergedRegion> merge_axes(const DetectContext& context, int too_high) {
  const Graph& graph = context.graph;
  std::vector<MergedRegion> out;
  for (const Region& region : find_regions(graph, too_high)) {
    MergedRegion result;
    std::vector<NodeId> nodes;
    for (const NodeId id : graph.order)
      if (region.nodes.count(id)) nodes.push_back(id);
    for (const NodeId id : nodes)
      for (const ValueId v : graph.node(id).outputs)
        if (v >= 0 && region.values.count(v)) result.nodes.push_back(id);
    if (result.nodes.empty()) result.nodes = nodes;
    result.at_interface = std::any_of(region.values.begin(), region.values.end(),
                                      [&](ValueId v) { return graph.is_output(v) || graph.is_input(v); });
    result.reason = result.at_interface
                        ? "a tensor of this rank is an input or an output of the program"
                        : "no two neighbouring axes are treated alike by every operator of the region";
    const ValueId first = *region.values.begin();
    for (int at = graph.value(first).rank() - 2; at >= 0 && !result.at_interface; --at)
      if (auto patch = Merger(context, region.values, nodes).run(first, at)) {
        result.patch = std::move(*patch), result.reason.clear();
        break;
      }
    out.push_back(std::move(result));
  }
  return out;
}

}  // namespace md
