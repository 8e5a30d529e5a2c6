#include "rules/litert/linear_fixes.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/rewrite/unused_nodes.h"

namespace md {

namespace {

std::optional<ProposedFix> matrix_fix(const DetectContext& context, const LinearSite& site,
                                      const std::vector<AxisMap>& maps) {
  PatchBuilder patch(context.graph, context.graph_index, "");
  TfliteBuilder build(patch);
  if (!write_maps(build, site, maps)) return std::nullopt;
  for (const NodeId id : site.nodes) patch.remove(id);
  remove_unused(patch);
  std::string sizes;
  for (const AxisMap& map : maps)
    if (!map.identity) sizes += fmt::format("{}{}x{}", sizes.empty() ? "" : " and ", map.rows, map.columns);
  ProposedFix fix;
  fix.patch = patch.take();
  fix.patch.title = "constant matrices: " + sizes;
  return fix;
}

}  // namespace

bool takes_constant_gather(const Target* target) {
  if (!target || !target->has_table()) return true;
  return target->name().rfind("litert-gpu", 0) == 0 && target->table >= Version{{2, 3, 0}};
}

std::optional<ProposedFix> gather_fix(const DetectContext& context,
                                      const std::vector<ConstantGather>& gathers, RowPicker picker) {
  PatchBuilder patch(context.graph, context.graph_index, "");
  TfliteBuilder build(patch);
  for (const ConstantGather& gather : gathers) {
    if (!write_gather(build, gather, picker)) return std::nullopt;
    patch.remove(gather.node);
  }
  remove_unused(patch);
  ProposedFix fix;
  fix.patch = patch.take();
  std::string ops;
  for (const Node& node : fix.patch.new_nodes)
    if (node.op != "RESHAPE" && ops.find(node.op) == std::string::npos)
      ops += (ops.empty() ? "" : " and ") + node.op;
  fix.patch.title = ops.empty() ? "the rows in order: RESHAPE" : ops + " instead of GATHER_ND";
  return fix;
}

bool samples_points(const Graph& graph, const LinearSite& site) {
  return std::all_of(site.gathers.begin(), site.gathers.end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    const Shape& index = graph.value(node.inputs[1]).shape;
    return !index.empty() && index.back() == graph.value(node.inputs[0]).rank() && index.back() > 2;
  });
}

DetectResult linear_result(const DetectContext& context, const LinearSite& site,
                           const std::vector<AxisMap>& maps) {
  const Graph& graph = context.graph;
  DetectResult found;
  found.nodes = site.nodes;
  const auto chain = only_needed_by(graph, site.nodes);
  found.nodes.insert(found.nodes.end(), chain.begin(), chain.end());
  std::sort(found.nodes.begin(), found.nodes.end());
  found.value = site.result;
  found.message =
      fmt::format("{} GATHER_ND resample {} to {} with constant weights", site.gathers.size(),
                  shape_text(graph.value(site.source).shape), shape_text(graph.value(site.result).shape));
  if (auto fix = matrix_fix(context, site, maps)) found.fixes.push_back(std::move(*fix));
  std::vector<ConstantGather> gathers;
  for (const NodeId id : site.gathers) {
    auto gather = constant_gather(context.model, context.graph_index, id, found.reason);
    if (gather) gathers.push_back(std::move(*gather));
  }
  if (gathers.size() == site.gathers.size()) {
    const bool taken = takes_constant_gather(context.target);
    auto fix = gather_fix(context, gathers, taken ? RowPicker::gather : RowPicker::pieces);
    // A big matrix does far more work than a few taps an element.
    const std::int64_t taps =
        *element_count(graph.value(site.result).shape) * static_cast<std::int64_t>(2 * site.gathers.size());
    const bool heavy =
        taken && work_of(graph, site, maps) > 32 * taps && work_of(graph, site, maps) > 1'000'000;
    if (fix) found.fixes.insert(heavy ? found.fixes.begin() : found.fixes.end(), std::move(*fix));
  }
  found.reason.clear();
  if (found.fixes.empty()) {
    found.state = DetectResult::State::declined;
    found.reason = "neither a constant matrix nor a gather fits here";
  }
  return found;
}

std::vector<NodeId> gathers_of_linear_sites(const Model& model, int graph_index) {
  std::vector<NodeId> nodes;
  for (const LinearSite& site : linear_sites(model, graph_index))
    if (factor(model, graph_index, site)) nodes.insert(nodes.end(), site.gathers.begin(), site.gathers.end());
  return nodes;
}

}  // namespace md
