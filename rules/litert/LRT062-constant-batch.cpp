// An elementwise operator with a constant of rank 3 or less that has a batch, as the delegate counts axes: it
// uploads constants without one. Measured for every broadcast of ranks 1 to 4 and all binary operators.
#include <fmt/format.h>

#include <algorithm>

#include "lib/eval/fold.h"
#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rewrite/rank_region.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// Every entry of the leading axis holds the same numbers: which one is kept does not matter.
bool is_repeated(const Graph& graph, ValueId id) {
  const auto values = real_values(graph, id);
  const auto entries = static_cast<std::size_t>(graph.value(id).shape[0]);
  if (!values || entries == 0) return false;
  const std::size_t period = values->size() / entries;
  return std::equal(values->begin() + static_cast<std::ptrdiff_t>(period), values->end(), values->begin());
}

/// Which operand (0 or 1) is a constant whose batch the accelerator drops; -1: none.
int constant_with_batch(const Graph& graph, const Node& node) {
  if (!is_binary_elementwise(node.op) || node.inputs.size() != 2) return -1;
  for (const std::size_t place : {std::size_t{0}, std::size_t{1}}) {
    const ValueId constant = node.inputs[place], other = node.inputs[1 - place];
    if (!is_constant_operand(graph, constant) || !is_runtime_operand(graph, other)) continue;
    if (depends_on_constants_only(graph, other)) return -1;  // is folded as a whole: LRT017
    const Value& c = graph.value(constant);
    const Value& x = graph.value(other);
    if (!is_static(c) || !is_static(x) || c.rank() == 0 || c.rank() > 4 || x.rank() > 4) return -1;
    if (c.dtype == DType::i32 && x.dtype == DType::i32)
      return c.rank() < x.rank() && c.shape[0] != 1 ? static_cast<int>(place) : -1;
    if (!is_float_value(graph, constant) || !is_float_value(graph, other)) return -1;
    if (c.shape[0] == 1 || c.rank() < x.rank()) return -1;
    if (c.rank() > x.rank() && x.rank() > 0 && x.shape[0] != 1) return -1;  // the ranks come first: LRT013
    if (c.rank() == 4 && x.rank() == 4 && x.shape[0] != 1) return -1;
    return is_repeated(graph, constant) ? -1 : static_cast<int>(place);
  }
  return -1;
}

/// Integers: the same bytes with leading ones, up to the rank of the computed operand.
Patch with_leading_ones(const DetectContext& context, NodeId id, int place) {
  const Node& node = context.graph.node(id);
  const ValueId constant = node.inputs[static_cast<std::size_t>(place)];
  const Value& c = context.graph.value(constant);
  const Value& x = context.graph.value(node.inputs[static_cast<std::size_t>(1 - place)]);
  PatchBuilder patch(context.graph, context.graph_index, fmt::format("give the constant rank {}", x.rank()));
  TfliteBuilder ops(patch);
  Shape aligned(static_cast<std::size_t>(x.rank() - c.rank()), 1);
  aligned.insert(aligned.end(), c.shape.begin(), c.shape.end());
  const ValueId moved = ops.move(constant, StridedView::whole(c.shape), aligned);
  if (moved == none_id || moved == constant) return {};
  patch.rewire(id, place, moved);
  return patch.take();
}

/// The DEQUANTIZE of an fp16 constant goes with the operator when nobody else reads it.
std::vector<NodeId> site(const Graph& graph, NodeId id, ValueId constant) {
  const NodeId producer = graph.producer(constant);
  if (producer != none_id && is_private(graph, constant)) return {producer, id};
  return {id};
}

}  // namespace

std::vector<DetectResult> LRT062(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    const int place = constant_with_batch(graph, node);
    if (place < 0) continue;
    const ValueId constant = node.inputs[static_cast<std::size_t>(place)];
    const Value& c = graph.value(constant);
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    if (c.dtype == DType::i32) {
      result.message = fmt::format(
          "{} of integers with a constant of [{}], which has fewer dimensions than the other operand: the "
          "accelerator's shader is not valid, and everything that runs with it is wrong",
          node.op, shape_text(c.shape));
      result.words["numbers"] = "integers";
      Patch patch = with_leading_ones(context, id, place);
      if (patch.empty()) continue;
      result.fixes.emplace_back(std::move(patch));
      results.push_back(std::move(result));
      continue;
    }
    result.message = fmt::format(
        "{} with a constant of [{}]: the accelerator takes its leading axis ({}) for the batch and keeps "
        "entry 0 "
        "of it",
        node.op, shape_text(c.shape), c.shape[0]);
    result.words["numbers"] = "floats";
    LoweredRegion lowered =
        lower_region(graph, context.graph_index, region_of(graph, site(graph, id, constant)),
                     "compute at rank 4 with a batch of 1", false);
    if (lowered.patch) {
      result.fixes.emplace_back(std::move(*lowered.patch));
    } else {
      result.state = DetectResult::State::declined;
      result.reason = lowered.reason;
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
