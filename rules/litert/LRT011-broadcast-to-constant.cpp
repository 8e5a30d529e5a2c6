// BROADCAST_TO of what depends on constants alone: stored, or left out where every reader broadcasts by
// itself.
#include <fmt/format.h>

#include <algorithm>

#include "lib/edit/builder.h"
#include "lib/edit/dead.h"
#include "lib/op/infer.h"
#include "lib/op/ops.h"
#include "lib/rewrite/constant_region.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

constexpr std::int64_t large = std::int64_t{1}
                               << 16;  // bytes of one stored constant before leaving it out is better

std::int64_t bytes_of(const Value& value) {
  const auto count = element_count(value.shape);
  return count ? *count * bit_width(value.dtype) / 8 : 0;
}

/// Every reader gives the same result from the small operand.
bool readers_broadcast(const Graph& graph, ValueId small, ValueId expanded) {
  if (graph.is_output(expanded)) return false;
  for (const Use& use : graph.uses(expanded)) {
    const Node& reader = graph.node(use.node);
    const OpSpec* spec = find_op(*graph.dialect, reader.op);
    if (!spec || !(spec->binary || spec->compare) || reader.inputs.size() != 2 || reader.outputs.size() != 1)
      return false;
    const ValueId other = reader.inputs[use.operand == 0 ? 1 : 0];
    const auto shape = broadcast_shape(graph.value(other).shape, graph.value(small).shape);
    if (shape != graph.value(reader.outputs[0]).shape) return false;
  }
  return true;
}

Patch leave_out(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  PatchBuilder builder(context.graph, context.graph_index, "BROADCAST_TO left out: its readers broadcast");
  for (const Use& use : context.graph.uses(node.outputs[0]))
    builder.rewire(use.node, use.operand, node.inputs[0]);
  builder.remove(id);
  remove_dead(context.graph, builder.patch());
  return builder.take();
}

DetectResult at(const DetectContext& context, const ConstantRegion& region, NodeId id) {
  const Node& node = context.graph.node(id);
  const Value& value = context.graph.value(node.outputs[0]);
  DetectResult result;
  result.nodes = region.nodes;
  std::iter_swap(result.nodes.begin(), std::find(result.nodes.begin(), result.nodes.end(), id));
  result.value = node.outputs[0];
  result.message = fmt::format("a constant is expanded to {} at run time", shape_text(value.shape));
  auto stored = fold_region(context.model, context.graph_index, region, "the expanded constant is stored");
  if (stored) result.fixes.emplace_back(*std::move(stored));
  if (readers_broadcast(context.graph, node.inputs[0], node.outputs[0])) {
    const bool first = bytes_of(value) > large;
    result.fixes.insert(first ? result.fixes.begin() : result.fixes.end(),
                        ProposedFix(leave_out(context, id)));
  }
  if (result.fixes.empty()) {
    result.state = DetectResult::State::declined;
    result.reason = stored.error().message;
  }
  return result;
}

}  // namespace

std::vector<DetectResult> LRT011(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const ConstantRegion& region : constant_regions(context.graph)) {
    const auto expands = std::find_if(region.nodes.begin(), region.nodes.end(),
                                      [&](NodeId id) { return context.graph.node(id).op == "BROADCAST_TO"; });
    if (expands != region.nodes.end()) results.push_back(at(context, region, *expands));
  }
  return results;
}

}  // namespace md
