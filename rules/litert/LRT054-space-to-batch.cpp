// SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: pure moves, rebuilt from what the accelerator has.
#include <fmt/format.h>

#include <algorithm>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

struct Blocks {
  std::vector<std::int64_t> size, edge;  ///< block sizes; (before, after) paddings or crops, one pair each
};

std::optional<Blocks> read_blocks(const Graph& graph, const Node& node) {
  const auto size = integer_values(graph, node.inputs[1]), edge = integer_values(graph, node.inputs[2]);
  if (!size || !edge || size->size() != 2 || edge->size() != 4) return std::nullopt;
  return Blocks{*size, *edge};
}

/// (N, H, W, C) -> (b1, b2, N, H/b1, W/b2, C), the leading three as the new batch.
Patch to_batch(const DetectContext& context, NodeId id, const Blocks& blocks) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "PAD, RESHAPE and TRANSPOSE");
  TfliteBuilder ops(patch);
  ValueId x = node.inputs[0];
  Shape in = ops.shape(x);
  if (std::any_of(blocks.edge.begin(), blocks.edge.end(), [](std::int64_t p) { return p != 0; })) {
    in[1] += blocks.edge[0] + blocks.edge[1];
    in[2] += blocks.edge[2] + blocks.edge[3];
    const ValueId padded = ops.value_like(x, in);
    const std::vector<double> widths = {
        0, 0, double(blocks.edge[0]), double(blocks.edge[1]), double(blocks.edge[2]), double(blocks.edge[3]),
        0, 0};
    patch.add_node("PAD", {x, patch.add_constant("paddings", DType::i32, {4, 2}, widths)}, {padded});
    x = padded;
  }
  const std::int64_t p = blocks.size[0], q = blocks.size[1];
  if (p <= 0 || q <= 0 || in[1] % p != 0 || in[2] % q != 0) return {};
  auto view = StridedView::whole(in).reshape({in[0], in[1] / p, p, in[2] / q, q, in[3]});
  if (view) view = view->transpose(std::vector<std::int64_t>{2, 4, 0, 1, 3, 5});
  if (!view || ops.move(x, *view, ops.shape(node.outputs[0]), node.outputs[0]) == none_id) return {};
  patch.remove(id);
  return patch.take();
}

/// (b1*b2*N, H, W, C) -> (N, H*b1, W*b2, C), then the crops.
Patch to_space(const DetectContext& context, NodeId id, const Blocks& blocks) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "RESHAPE, TRANSPOSE and SLICE");
  TfliteBuilder ops(patch);
  const Shape in = ops.shape(node.inputs[0]), out = ops.shape(node.outputs[0]);
  const std::int64_t p = blocks.size[0], q = blocks.size[1];
  if (p <= 0 || q <= 0 || in[0] % (p * q) != 0) return {};
  auto view = StridedView::whole(in).reshape({p, q, in[0] / (p * q), in[1], in[2], in[3]});
  if (view) view = view->transpose(std::vector<std::int64_t>{2, 3, 0, 4, 1, 5});
  if (!view) return {};
  const Shape whole = {in[0] / (p * q), in[1] * p, in[2] * q, in[3]};
  const bool crops = whole != out;
  const ValueId spread = ops.move(node.inputs[0], *view, whole, crops ? none_id : node.outputs[0]);
  if (spread == none_id) return {};
  if (crops)
    ops.slice(spread, std::vector<std::int64_t>{0, blocks.edge[0], blocks.edge[2], 0}, out, node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT054(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    const bool forward = node.op == "SPACE_TO_BATCH_ND";
    if ((!forward && node.op != "BATCH_TO_SPACE_ND") || node.inputs.size() != 3) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    result.message = fmt::format("{}: the accelerator has no kernel for it", node.op);
    const auto blocks = read_blocks(graph, node);
    const bool plain = blocks && graph.value(node.inputs[0]).rank() == 4 &&
                       is_static(graph.value(node.inputs[0])) && is_static(graph.value(node.outputs[0]));
    Patch patch = !plain    ? Patch{}
                  : forward ? to_batch(context, id, *blocks)
                            : to_space(context, id, *blocks);
    if (patch.empty()) {
      result.state = DetectResult::State::declined;
      result.reason = "only four dimensions with two constant block sizes are rewritten";
    } else {
      result.fixes.emplace_back(std::move(patch));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
