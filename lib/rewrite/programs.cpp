// Rewrites of exported programs (.pt2) that several rules use.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rewrite/aten/boolean_rows.h"
#include "lib/rewrite/aten/branches.h"
#include "lib/rewrite/aten/check_chain.h"
#include "lib/rewrite/aten/complex_results.h"
#include "lib/rewrite/aten/merge_axes.h"
#include "lib/rewrite/aten/plain_operators.h"
#include "lib/rewrite/aten/retype.h"
#include "lib/rewrite/aten/scatter_sum.h"
#include "lib/rewrite/aten/shared_constants.h"
#include "lib/rewrite/families.h"

namespace md::rewrites {
namespace {

std::vector<DetectResult> rows_of_mask(const RewriteSite& site) { return boolean_rows(site.context); }

std::vector<DetectResult> scatter_as_sum(const RewriteSite& site) { return integer_scatter(site.context); }

std::vector<DetectResult> split_constants(const RewriteSite& site) {
  return split_shared_constants(site.context, [](ValueId) { return true; });
}

/// Values of one floating-point type in another. With "inside" an interface of that type is kept, and then
/// nothing is done.
std::vector<DetectResult> retyped(const RewriteSite& site) {
  const auto from = dtype_from_name(site.arguments[0].text), to = dtype_from_name(site.arguments[1].text);
  if (!from || !to) return declined("no such element types");
  auto results = retype_region(site.context, *from, *to);
  if (site.arguments.size() < 3) return results;
  const Graph& graph = site.context.graph;
  const auto holds = [&](const std::vector<ValueId>& list) {
    return std::any_of(list.begin(), list.end(), [&](ValueId v) { return graph.value(v).dtype == *from; });
  };
  for (DetectResult& result : results) {
    for (ProposedFix& fix : result.fixes) fix.uncalled = true, fix.retypes_interface = false;
    if (result.fixes.empty() || (!holds(graph.inputs) && !holds(graph.outputs))) continue;
    result.fixes.clear();
    result.state = DetectResult::State::declined;
    result.reason = site.arguments[2].text;
  }
  return results;
}

/// Complex values as pairs of real ones, in the regions that the word chooses.
std::vector<DetectResult> real_pairs(const RewriteSite& site) {
  const std::string& which = site.arguments[0].text;
  return complex_results(site.context, [&](const ComplexRegion& region) {
    if (which == "transforms") return region.has_fourier;
    if (which == "real transforms") return region.has_fourier && region.first == none_id;
    if (which == "values") return region.first != none_id;
    if (which == "values or transforms") return region.first != none_id || region.has_fourier;
    if (which == "constants") return region.has_constant;
    return which == "all";
  });
}

/// torch.cond: both branches, and where() between their results.
std::vector<DetectResult> branches_chosen(const RewriteSite& site) {
  return both_branches_of_cond(site.context);
}

/// Operators outside Core ATen, or those that the page lists.
std::vector<DetectResult> in_plain_operators(const RewriteSite& site) {
  return plain_operators(site.context, [&](const std::string& base) {
    return std::any_of(site.arguments.begin(), site.arguments.end(),
                       [&](const Datum& listed) { return listed.text == base; });
  });
}

/// A node that gives its operand unchanged is left out.
std::vector<DetectResult> bypassed(const RewriteSite& site) {
  const Node& node = site.context.graph.node(site.root);
  if (node.inputs.size() != 1 || node.outputs.size() != 1) return {};
  AtenBuilder b(site.context.graph, site.context.graph_index, title_of(site, "drop the node"));
  b.bypass(site.root, node.outputs[0], node.inputs[0]);
  return fixed_by(b.take());
}

/// Chains of nodes that only serve a check on an item, without the check.
std::vector<DetectResult> without_checks(const RewriteSite& site) {
  const Graph& graph = site.context.graph;
  const auto chain = check_only_nodes(graph);
  const bool on_item = std::any_of(chain.begin(), chain.end(),
                                   [&](NodeId id) { return aten_base(graph.node(id).op) == "aten.item"; });
  std::vector<NodeId> checks;
  for (const NodeId id : chain)
    if (aten_is_check(graph.node(id).op)) checks.push_back(id);
  if (!on_item || checks.empty()) return {};
  DetectResult result;
  result.nodes = checks;
  for (const NodeId id : chain)
    if (std::find(checks.begin(), checks.end(), id) == checks.end()) result.nodes.push_back(id);
  result.words["count"] = std::to_string(checks.size());
  result.fixes.emplace_back(drop_checks(site.context, chain));
  return {std::move(result)};
}

/// True for a reshape to a high rank, permutations, and a reshape back, none of them read elsewhere:
/// compilers that have a pass for it (Core ML Tools' expand_high_rank_reshape_and_transpose) never make the
/// tensors.
bool only_rearranges(const Graph& graph, const MergedRegion& region, int rank) {
  for (const NodeId id : region.nodes) {
    const Node& node = graph.node(id);
    const std::string base = aten_base(node.op);
    const bool reshape = base == "aten.view" || base == "aten.reshape" || base == "aten._unsafe_view";
    const bool permutes = base == "aten.permute" || base == "aten.transpose" || base == "aten.clone" ||
                          base == "aten.contiguous";
    if (node.inputs.empty() || node.inputs[0] < 0 || node.outputs.size() != 1) return false;
    const bool reads_high = graph.value(node.inputs[0]).rank() >= rank,
               gives_high = graph.value(node.outputs[0]).rank() >= rank;
    if (!reshape && !(permutes && reads_high && gives_high)) return false;
    if (!gives_high) continue;
    const auto uses = graph.uses(node.outputs[0]);
    if (uses.size() != 1 || graph.is_output(node.outputs[0])) return false;
    const Node& reader = graph.node(uses.front().node);
    const bool back = reader.outputs.size() == 1 && graph.value(reader.outputs[0]).rank() < rank;
    const std::string last = aten_base(reader.op);
    if (back && last != "aten.view" && last != "aten.reshape" && last != "aten._unsafe_view") return false;
  }
  return true;
}

/// Two neighbouring axes of every region of tensors of a rank (and above) merged into one.
std::vector<DetectResult> merged_axes(const RewriteSite& site) {
  std::vector<DetectResult> results;
  const int rank = static_cast<int>(site.arguments[0].number);
  const bool only_computed = site.arguments.size() > 1;
  for (MergedRegion& region : merge_axes(site.context, rank)) {
    if (only_computed && only_rearranges(site.context.graph, region, rank)) continue;
    DetectResult result;
    result.nodes = region.nodes;
    result.words["first"] = site.context.graph.node(region.nodes.front()).op;
    if (region.reason.empty()) {
      result.fixes.emplace_back(std::move(region.patch));
    } else {
      std::set<std::string> ops;
      for (const NodeId id : region.nodes) ops.insert(fmt::format("\"{}\"", site.context.graph.node(id).op));
      std::string list;
      for (const std::string& op : ops) list += (list.empty() ? "" : ", ") + op;
      result.state = region.at_interface ? DetectResult::State::advice : DetectResult::State::declined;
      result.words["operators"] = list;
      result.words["why"] = region.reason;
    }
    results.push_back(std::move(result));
  }
  return results;
}

constexpr NamedRewrite table[] = {
    {"branches_chosen", 0, 0, "", "torch.cond with branches that only compute: both of them, and where()",
     branches_chosen, ""},
    {"bypassed", 0, 0, "", "a node that gives its operand unchanged: left out", bypassed},
    {"in_plain_operators", 1, 24, "operators without their overloads",
     "operators that few toolchains take: written with operators of Core ATen", in_plain_operators, ""},
    {"merged_axes", 1, 2, "a rank, and optionally \"computed\": not where it is only reshaped and permuted",
     "tensors of that rank and above: two neighbouring axes that are treated alike as one", merged_axes, ""},
    {"real_pairs", 1, 1,
     "which regions: transforms, real transforms, values, values or transforms, constants, all",
     "complex arithmetic and Fourier transforms on pairs of real tensors", real_pairs, ""},
    {"retyped", 2, 3, "element types from and to, and optionally why an interface of the first is kept",
     "the graph's values, constants and casts of one floating-point type in another", retyped, ""},
    {"rows_of_mask", 0, 0, "", "rows read or written through a boolean mask: all rows, and where()",
     rows_of_mask, ""},
    {"scatter_as_sum", 0, 0, "", "integer scatter_add and scatter_reduce: compare the indices and reduce",
     scatter_as_sum, ""},
    {"split_constants", 0, 0, "",
     "constants that several nodes read: one placeholder for each, the same bytes", split_constants, ""},
    {"without_checks", 0, 0, "", "chains that only serve a check on an item: left out with it",
     without_checks, ""},
};

}  // namespace

std::span<const NamedRewrite> program_rewrites() { return table; }

}  // namespace md::rewrites
