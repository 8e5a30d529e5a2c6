#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// Zero padding of one axis, as constant_pad_nd wants it: pairs from the last axis on.
ValueId pad(AtenBuilder& b, ValueId x, int dim, std::int64_t before, std::int64_t after) {
  if (before == 0 && after == 0) return x;
  const int rank = b.rank(x);
  std::vector<std::int64_t> pairs(static_cast<std::size_t>(2 * (rank - dim)), 0);
  pairs[pairs.size() - 2] = before, pairs[pairs.size() - 1] = after;
  Attributes attrs;
  attrs.set("pad", pairs), attrs.set("value", std::int64_t{0});
  Shape shape = b.shape(x);
  shape[static_cast<std::size_t>(dim)] += before + after;
  return b.make("aten.constant_pad_nd.default", {{"self", x}}, std::move(attrs), b.dtype(x),
                std::move(shape));
}

Patch padded_sum(const DetectContext& context, NodeId id, std::vector<ValueId> parts, int dim) {
  const Node& node = context.graph.node(id);
  AtenBuilder b(context.graph, context.graph_index, "pad and add (-0.0 may become 0.0)");
  b.remove(id);
  if (aten_base(node.op) == "aten.stack")
    for (ValueId& part : parts) part = b.unsqueeze(part, dim);
  const std::int64_t total = context.graph.value(node.outputs[0]).shape[static_cast<std::size_t>(dim)];
  std::int64_t at = 0;
  ValueId sum = none_id;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t size = b.shape(parts[i])[static_cast<std::size_t>(dim)];
    const ValueId part = pad(b, parts[i], dim, at, total - at - size);
    at += size;
    if (i + 1 == parts.size()) b.result_into(node.outputs[0]);
    sum = sum == none_id ? part : b.binary("aten.add.Tensor", sum, part);
  }
  return b.take();
}

}  // namespace

std::vector<DetectResult> ETX007(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    const std::string base = aten_base(node.op);
    if ((base != "aten.cat" && base != "aten.concat" && base != "aten.stack") || node.outputs.size() != 1 ||
        graph.value(node.outputs[0]).dtype != DType::f64)
      continue;
    DetectResult result;
    result.nodes = {id};
    result.message = "a list of float64 tensors, which the MLX partitioner does not check";
    auto parts = aten_operands(node, "tensors");
    const auto dim = aten_dim(node, "dim", graph.value(node.outputs[0]).rank(), 0);
    const bool stacks = base == "aten.stack";
    const int rank = graph.value(node.outputs[0]).rank() - (stacks ? 1 : 0);
    bool fixed = dim && parts.size() > 1;
    for (const ValueId part : parts)
      fixed = fixed && part >= 0 && graph.value(part).dtype == DType::f64 &&
              graph.value(part).rank() == rank &&
              (stacks || graph.value(part).shape[static_cast<std::size_t>(*dim)] >= 0);
    if (fixed)
      result.fixes.emplace_back(padded_sum(context, id, parts, *dim));
    else
      result.state = DetectResult::State::declined,
      result.reason = "its parts have other types, or sizes that are not known";
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
