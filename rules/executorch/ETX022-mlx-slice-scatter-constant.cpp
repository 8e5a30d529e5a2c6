#include <algorithm>
#include <limits>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/op/dialect.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

std::vector<DetectResult> in_lowered(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const NodeId id : context.graph.order) {
    const Node& node = context.graph.node(id);
    if (node.op != "delegate" || !node.attrs.flag("updates_constant")) continue;
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.nodes = {id};
    result.message = "an MLX partition updates a slice of a constant";
    result.reason =
        "fix the .pt2 that it was lowered from (modeldoctor fix model.pt2 --target executorch-mlx), and "
        "lower again";
    results.push_back(std::move(result));
  }
  return results;
}

std::int64_t clamped(std::int64_t bound, std::int64_t size) {
  return std::clamp<std::int64_t>(bound < 0 ? bound + size : bound, 0, size);
}

/// The parts in front of the source, the source, and behind it.
Patch as_parts(const DetectContext& context, NodeId id, ValueId base, ValueId src, int dim,
               std::int64_t start, std::int64_t end) {
  const Node& node = context.graph.node(id);
  AtenBuilder b(context.graph, context.graph_index, "cat of the slices around it");
  b.remove(id);
  const std::int64_t size = b.shape(base)[static_cast<std::size_t>(dim)];
  std::vector<ValueId> parts;
  if (start > 0) parts.push_back(b.slice(base, dim, 0, start));
  parts.push_back(src);
  if (end < size) parts.push_back(b.slice(base, dim, end, size));
  b.result_into(node.outputs[0]);
  b.cat(parts, dim);
  return b.take();
}

/// Every `step`-th element written: base and source behind each other, and an index that picks from both.
Patch as_selection(const DetectContext& context, NodeId id, ValueId base, ValueId src, int dim,
                   std::int64_t start, std::int64_t end, std::int64_t step) {
  const Node& node = context.graph.node(id);
  AtenBuilder b(context.graph, context.graph_index, "select from base and source");
  b.remove(id);
  const std::int64_t size = b.shape(base)[static_cast<std::size_t>(dim)];
  std::vector<double> from;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const bool written = i >= start && i < end && (i - start) % step == 0;
    from.push_back(static_cast<double>(written ? size + next++ : i));
  }
  const ValueId both = b.cat({base, src}, dim);
  const ValueId order = b.add_constant("scatter_order", DType::i64, {size}, from);
  Attributes attrs;
  attrs.set("dim", std::int64_t{dim});
  b.write("aten.index_select.default", {{"self", both}, {"index", order}}, std::move(attrs), node.outputs[0]);
  return b.take();
}

}  // namespace

std::vector<DetectResult> ETX022(const DetectContext& context) {
  if (context.model.dialect->lowered) return in_lowered(context);
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    const std::string base = aten_base(node.op);
    if (base != "aten.slice_scatter" && base != "aten.select_scatter") continue;
    const ValueId self = aten_operand(node, "self"), src = aten_operand(node, "src");
    if (self < 0 || src < 0 || !graph.value(self).is_constant() || node.outputs.size() != 1) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = self;
    result.message = node.op + " writes into the constant " + graph.value(self).name;
    const Value& target = graph.value(self);
    const auto dim = aten_dim(node, "dim", target.rank(), 0);
    const std::int64_t step = node.attrs.integer("step", 1);
    if (!dim || base == "aten.select_scatter" || step < 1 || graph.value(src).dtype != target.dtype ||
        !element_count(graph.value(src).shape)) {
      result.state = DetectResult::State::declined;
      result.reason = "only slices of the same type and of known size are put together again";
    } else {
      const std::int64_t size = target.shape[static_cast<std::size_t>(*dim)];
      const std::int64_t start = clamped(node.attrs.integer("start", 0), size),
                         end = std::max(start, clamped(node.attrs.integer(
                                                           "end", std::numeric_limits<std::int64_t>::max()),
                                                       size));
      Patch patch = step == 1 ? as_parts(context, id, self, src, *dim, start, end)
                              : as_selection(context, id, self, src, *dim, start, end, step);
      result.fixes.emplace_back(std::move(patch));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
