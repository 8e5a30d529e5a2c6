// SELECT_V2 whose branch is neither of the output's shape nor one element of rank 0 or 1: refused.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

bool is_taken(const Value& branch, const Value& output) {
  return branch.shape == output.shape || branch.rank() == 0 || (branch.rank() == 1 && branch.shape[0] == 1);
}

/// The branch as one element of rank 1, or repeated to the output's shape; none_id when neither can be
/// written.
ValueId taken_form(TfliteBuilder& ops, ValueId branch, const Shape& out) {
  const Shape from = ops.shape(branch);
  if (element_count(from) == 1)
    return ops.patch().value(branch).is_constant() ? ops.move(branch, StridedView::whole(from), {1})
                                                   : ops.reshape(branch, {1});
  if (from.size() > out.size()) return none_id;
  Shape aligned(out.size() - from.size(), 1);
  aligned.insert(aligned.end(), from.begin(), from.end());
  std::vector<std::int64_t> times(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (aligned[i] <= 0) return none_id;
    times[i] = out[i] / aligned[i];
  }
  if (ops.patch().value(branch).is_constant()) {
    const auto view = StridedView::whole(from).reshape(aligned);
    const auto tiled = view ? view->tile(times) : std::nullopt;
    return tiled ? ops.move(branch, *tiled, out) : none_id;
  }
  return ops.tile(aligned == from ? branch : ops.reshape(branch, aligned), times);
}

}  // namespace

std::vector<DetectResult> LRT010(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "SELECT_V2" || node.inputs.size() != 3) continue;
    const Value& output = graph.value(node.outputs[0]);
    if (!is_static(output) || output.rank() > 4) continue;
    if (is_taken(graph.value(node.inputs[1]), output) && is_taken(graph.value(node.inputs[2]), output))
      continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    PatchBuilder patch(graph, context.graph_index, "materialize the branch");
    TfliteBuilder ops(patch);
    bool written = true;
    for (int operand = 1; operand <= 2; ++operand) {
      const ValueId branch = node.inputs[static_cast<std::size_t>(operand)];
      const Value& value = graph.value(branch);
      if (is_taken(value, output)) continue;
      result.message = fmt::format(
          "SELECT_V2 to [{}] with a branch of [{}]: a branch must have the output's shape or be one element",
          shape_text(output.shape), shape_text(value.shape));
      const ValueId taken = is_static(value) ? taken_form(ops, branch, output.shape) : none_id;
      if (taken == none_id)
        written = false;
      else
        patch.rewire(id, operand, taken);
    }
    if (written) {
      result.fixes.emplace_back(patch.take());
    } else {
      result.state = DetectResult::State::declined;
      result.reason =
          "the branch has a dynamic shape, or is a constant that cannot be repeated (per-channel quantized, "
          "sparse)";
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
