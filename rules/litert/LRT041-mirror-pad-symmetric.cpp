// MIRROR_PAD that repeats the border (SYMMETRIC), or mirrors a value of rank 1 or 2.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// `count` entries of an axis from `begin` on, backwards.
ValueId mirrored_part(PatchBuilder& patch, TfliteBuilder& ops, ValueId x, std::size_t axis,
                      std::int64_t begin, std::int64_t count) {
  std::vector<std::int64_t> from(ops.shape(x).size(), 0);
  Shape size = ops.shape(x);
  from[axis] = begin;
  size[axis] = count;
  const ValueId part = ops.slice(x, from, size);
  if (count == 1) return part;
  const ValueId flipped = ops.value_like(part, size);
  patch.add_node("REVERSE_V2", {part, ops.int32s(std::vector<std::int64_t>{static_cast<std::int64_t>(axis)})},
                 {flipped});
  return flipped;
}

}  // namespace

std::vector<DetectResult> LRT041(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "MIRROR_PAD" || node.inputs.size() < 2) continue;
    const bool symmetric = node.attrs.text("mode", "REFLECT") == "SYMMETRIC";
    const Value& input = graph.value(node.inputs[0]);
    if (!symmetric && input.rank() > 2) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message =
        symmetric ? "MIRROR_PAD that repeats the border (SYMMETRIC): the accelerator knows REFLECT only"
                  : "MIRROR_PAD of rank 1 or 2: the accelerator mirrors rank 3 and 4 only";
    const auto widths = integer_values(graph, node.inputs[1]);
    if (!widths || !is_static(input) || widths->size() != 2 * input.shape.size() || input.rank() > 4) {
      result.state = DetectResult::State::declined;
      result.reason = "the paddings or the shape are not known before run time";
      results.push_back(std::move(result));
      continue;
    }
    PatchBuilder patch(graph, context.graph_index, "mirrored slices and CONCATENATION");
    TfliteBuilder ops(patch);
    const std::int64_t skip = symmetric ? 0 : 1;
    ValueId x = node.inputs[0];
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const std::int64_t before = (*widths)[2 * axis], after = (*widths)[2 * axis + 1],
                         size = input.shape[axis];
      if (before == 0 && after == 0) continue;
      std::vector<ValueId> parts;
      if (before > 0) parts.push_back(mirrored_part(patch, ops, x, axis, skip, before));
      parts.push_back(x);
      if (after > 0) parts.push_back(mirrored_part(patch, ops, x, axis, size - after - skip, after));
      x = ops.concatenation(parts, static_cast<int>(axis));
    }
    if (patch.patch().new_nodes.empty()) {
      ops.reshape(x, ops.shape(node.outputs[0]), node.outputs[0]);
    } else {
      patch.patch().new_nodes.back().outputs[0] = node.outputs[0];
    }
    patch.remove(id);
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
