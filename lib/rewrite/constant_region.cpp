#include "lib/rewrite/constant_region.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/disjoint_sets.h"
#include "lib/edit/builder.h"
#include "lib/edit/dead.h"
#include "lib/eval/fold.h"
#include "lib/op/ops.h"

namespace md {
namespace {

bool can_fold(const Graph& graph, const Node& node) {
  if (!node.subgraphs.empty() || node.outputs.empty() || node.inputs.empty()) return false;
  if (has_state(graph, node)) return false;
  return std::none_of(node.outputs.begin(), node.outputs.end(),
                      [&](ValueId v) { return v >= 0 && graph.value(v).is_variable; });
}

}  // namespace

std::vector<ConstantRegion> constant_regions(const Graph& graph) {
  std::vector<char> folds(graph.nodes.size(), 0);
  DisjointSets groups(graph.nodes.size());
  const auto producer_folds = [&](ValueId v) {
    const NodeId producer = graph.producer(v);
    return producer != none_id && folds[static_cast<std::size_t>(producer)] != 0;
  };
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const bool constant =
        can_fold(graph, node) && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
          return v == none_id || (graph.value(v).constant && !graph.value(v).is_variable) ||
                 producer_folds(v);
        });
    if (!constant) continue;
    folds[static_cast<std::size_t>(id)] = 1;
    for (const ValueId v : node.inputs)
      if (v >= 0 && producer_folds(v) && graph.node(graph.producer(v)).op != "DEQUANTIZE")
        groups.join(static_cast<std::size_t>(id), static_cast<std::size_t>(graph.producer(v)));
  }
  std::vector<ConstantRegion> regions;
  std::vector<std::int32_t> region_of(graph.nodes.size(), -1);
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (!folds[static_cast<std::size_t>(id)] || node.op == "DEQUANTIZE") continue;
    const std::size_t group = groups.find(static_cast<std::size_t>(id));
    if (region_of[group] < 0) {
      region_of[group] = static_cast<std::int32_t>(regions.size());
      regions.emplace_back();
    }
    ConstantRegion& region = regions[static_cast<std::size_t>(region_of[group])];
    region.nodes.push_back(id);
    for (const ValueId v : node.outputs) {
      if (v < 0) continue;
      const auto uses = graph.uses(v);
      const bool seen = graph.is_output(v) || std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
                          return !folds[static_cast<std::size_t>(use.node)];
                        });
      if (seen) region.results.push_back(v);
    }
  }
  return regions;
}

Result<Patch> fold_region(const Model& model, int graph_index, const ConstantRegion& region,
                          std::string title, std::int64_t max_bytes) {
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  PatchBuilder builder(graph, graph_index, std::move(title));
  std::int64_t bytes = 0;
  for (const ValueId v : region.results) {
    if (graph.is_output(v))
      return fail(Error::Kind::unsupported,
                  fmt::format("\"{}\" is an output of the graph, and an output cannot be a constant",
                              graph.value(v).name));
    auto tensor = fold_value(model, graph_index, v, max_bytes);
    if (!tensor) return tl::make_unexpected(tensor.error());
    const Value& old = graph.value(v);
    if (tensor->dtype != old.dtype || (element_count(old.shape) && tensor->shape != old.shape))
      return fail(Error::Kind::unsupported,
                  fmt::format("\"{}\" is declared {} {}, but its constants give {}", old.name,
                              name(old.dtype), shape_text(old.shape), shape_text(tensor->shape)));
    Value folded = constant_value(old.name, *tensor);
    bytes += static_cast<std::int64_t>(folded.constant->bytes.size());
    if (bytes > max_bytes)
      return fail(Error::Kind::unsupported,
                  fmt::format("the folded constants would take more than {} MB", max_bytes >> 20));
    ValueChange change;
    change.value = v;
    change.constant = *folded.constant;
    if (!element_count(old.shape)) change.shape = tensor->shape;
    builder.change(std::move(change));
  }
  for (const NodeId id : region.nodes) builder.remove(id);
  remove_dead(graph, builder.patch());
  return builder.take();
}

}  // namespace md
