// One operator written with others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rewrite/families.h"
#include "lib/rewrite/norm_pattern.h"
#include "lib/rewrite/plain_slice.h"
#include "lib/rewrite/rank_region.h"
#include "lib/rewrite/select_rows.h"

namespace md::rewrites {
namespace {

/// The root (and, with an argument, the operator that makes that value for it alone) at rank 4 with a batch
/// of 1.
std::vector<DetectResult> rank_4(const RewriteSite& site) {
  const Graph& graph = site.context.graph;
  std::vector<NodeId> nodes;
  for (const Datum& value : site.arguments)
    if (value.kind == Datum::Kind::value && graph.producer(value.value) != none_id &&
        is_private(graph, value.value))
      nodes.push_back(graph.producer(value.value));
  nodes.push_back(site.root);
  LoweredRegion lowered = lower_region(graph, site.context.graph_index, region_of(graph, nodes),
                                       title_of(site, "compute at rank 4 with a batch of 1"), false);
  if (!lowered.patch) return declined(lowered.reason);
  auto results = fixed_by(std::move(*lowered.patch));
  results.front().nodes = {site.root};
  return results;
}

/// STRIDED_SLICE with masks or negative strides as REVERSE_V2, SLICE and RESHAPE.
std::vector<DetectResult> plain_slice(const RewriteSite& site) {
  return {plain_slice_finding(site.context, site.root, title_of(site, "slice without masks"))};
}

/// The indices as a list. A constant gets new bytes of the same numbers, a computed one a RESHAPE.
ValueId as_list(TfliteBuilder& ops, const Graph& graph, ValueId indices) {
  const auto count = element_count(graph.value(indices).shape);
  if (!count) return none_id;
  const auto numbers = integer_values(graph, indices);
  if (!numbers) return graph.value(indices).dtype == DType::i32 ? ops.reshape(indices, {*count}) : none_id;
  return ops.int32s(*numbers);
}

/// GATHER with a scalar or a table of indices as a GATHER with a list and a RESHAPE.
std::vector<DetectResult> gather_by_list(const RewriteSite& site) {
  const Graph& graph = site.context.graph;
  const Node& node = graph.node(site.root);
  const Value& data = graph.value(node.inputs[0]);
  PatchBuilder patch(graph, site.context.graph_index,
                     title_of(site, "GATHER with a list of indices, then RESHAPE"));
  TfliteBuilder ops(patch);
  const std::int64_t given = node.attrs.integer("axis"), axis = given < 0 ? given + data.rank() : given;
  const bool plain = node.attrs.integer("batch_dims") == 0 && is_static(data) &&
                     is_static(graph.value(node.inputs[1])) && axis >= 0 && axis < data.rank();
  const ValueId list = plain ? as_list(ops, graph, node.inputs[1]) : none_id;
  if (list == none_id)
    return declined(
        "batched gathers, dynamic shapes and computed int64 indices have no form that the accelerator takes");
  const ValueId rows = ops.gather(node.inputs[0], list, static_cast<int>(axis));
  ops.reshape(rows, ops.shape(node.outputs[0]), node.outputs[0]);
  patch.remove(site.root);
  return fixed_by(patch.take());
}

/// GATHER with constant indices as slices that a CONCATENATION joins, at rank 3 or more.
std::vector<DetectResult> gather_by_slices(const RewriteSite& site) {
  const Graph& graph = site.context.graph;
  const Node& node = graph.node(site.root);
  auto indices = integer_values(graph, node.inputs[1]);
  if (!indices) return declined("the indices are not constant");
  const auto axis = static_cast<std::int64_t>(site.arguments[0].number);
  PatchBuilder patch(graph, site.context.graph_index, title_of(site, "slices joined again"));
  TfliteBuilder ops(patch);
  Shape in = ops.shape(node.inputs[0]);
  if (site.arguments[0].kind != Datum::Kind::number || axis < 0 ||
      axis >= static_cast<std::int64_t>(in.size()))
    return declined("it has no such axis");
  const std::size_t missing = in.size() < 3 ? 3 - in.size() : 0;
  in.insert(in.begin(), missing, 1);
  for (std::int64_t& index : *indices)
    if (index < 0) index += in[static_cast<std::size_t>(axis) + missing];
  const ValueId x = missing ? ops.reshape(node.inputs[0], in) : node.inputs[0];
  const ValueId rows = select_rows(ops, x, static_cast<int>(axis + static_cast<std::int64_t>(missing)),
                                   *indices, RowPicker::pieces, missing ? none_id : node.outputs[0]);
  if (rows == none_id)
    return declined("the indices would take more than 64 slices; use runtime 2.3.0 or newer");
  if (missing) ops.reshape(rows, ops.shape(node.outputs[0]), node.outputs[0]);
  patch.remove(site.root);
  return fixed_by(patch.take());
}

/// The magnitude of x from which squares (kept one by one in fp16) or their sum pass the largest fp16 number.
double limit_of(const Graph& graph, const NormSite& norm) {
  constexpr double largest_half = 65504;
  double terms = 1;
  if (!norm.averages)
    for (const std::int64_t axis : norm.axes)
      terms *= static_cast<double>(
          graph.value(graph.node(norm.square).outputs[0]).shape[static_cast<std::size_t>(axis)]);
  return std::sqrt(largest_half / terms);
}

/// A normalization written out, on values divided by the largest magnitude first. Arguments: which kinds.
std::vector<DetectResult> rescaled_norm(const RewriteSite& site) {
  const Graph& graph = site.context.graph;
  const auto norm = norm_at(graph, site.root);
  if (!norm) return {};
  const bool centred = norm->kind == NormSite::Kind::centred;
  const std::string kind = centred ? "centred" : norm->kind == NormSite::Kind::rms ? "rms" : "l2";
  if (std::none_of(site.arguments.begin(), site.arguments.end(),
                   [&](const Datum& d) { return d.text == kind; }))
    return {};
  const ValueId x = centred ? norm->x : norm->source;
  if (is_constant_operand(graph, x)) return {};  // folds away
  const bool unbounded = grows_with_inputs(graph, x);
  DetectResult result;
  result.likelihood = unbounded ? Likelihood::possible : Likelihood::unlikely;
  result.nodes = {norm->square, norm->root};
  result.value = x;
  result.words = {{"norm", norm->name()},
                  {"value", graph.value(x).name},
                  {"squared", centred ? "x - mean" : "x"},
                  {"limit", fmt::format("{:.0f}", limit_of(graph, *norm))},
                  {"bound", unbounded ? "; nothing in the model bounds it, it grows with the input" : ""}};
  result.fixes.emplace_back(rescaled_norm_patch(graph, site.context.graph_index, *norm));
  return {std::move(result)};
}

constexpr NamedRewrite table[] = {
    {"gather_by_list", 0, 0, "", "GATHER with a scalar or a table of indices: GATHER with a list, RESHAPE",
     gather_by_list, "GATHER"},
    {"gather_by_slices", 1, 1, "an axis", "GATHER with constant indices: slices, CONCATENATION",
     gather_by_slices, "GATHER"},
    {"plain_slice", 0, 0, "", "STRIDED_SLICE with masks or negative strides: REVERSE_V2, SLICE, RESHAPE",
     plain_slice, "STRIDED_SLICE"},
    {"rank_4", 0, 2, "values whose operators belong to it",
     "the operator on the same elements at rank 4 with a batch of 1, RESHAPE around it", rank_4},
    {"rescaled_norm", 1, 3, "kinds: rms, l2, centred",
     "a normalization of x / m with m the largest magnitude: the scale cancels, the squares stay small",
     rescaled_norm},
};

}  // namespace

std::span<const NamedRewrite> operator_rewrites() { return table; }

}  // namespace md::rewrites
