// TRANSPOSE_CONV with padding SAME: the delegate crops as if the input were the output of a forward
// convolution.
#include <fmt/format.h>

#include <algorithm>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

struct Axis {
  std::int64_t input = 1, kernel = 1, stride = 1, output = 1;
  /// Rows that TFLite cuts from the front of the full (input-1)*stride+kernel result: half of kernel-stride.
  std::int64_t right_crop() const { return std::max<std::int64_t>(full() - output, 0) / 2; }
  std::int64_t full() const { return (input - 1) * stride + kernel; }
  /// What the delegate cuts: SAME padding of a forward convolution over the input's extent.
  std::int64_t delegate_crop() const {
    const std::int64_t steps = (input + stride - 1) / stride;
    return std::max<std::int64_t>((steps - 1) * stride + kernel - input, 0) / 2;
  }
};

}  // namespace

std::vector<DetectResult> LRT008(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "TRANSPOSE_CONV" || node.attrs.text("padding", "SAME") != "SAME" || node.inputs.size() < 3)
      continue;
    const Value& weights = graph.value(node.inputs[1]);
    const Value& input = graph.value(node.inputs[2]);
    const Value& output = graph.value(node.outputs[0]);
    if (weights.rank() != 4 || input.rank() != 4 || output.rank() != 4 || !is_static(input) ||
        !is_static(output))
      continue;
    const Axis h{input.shape[1], weights.shape[1], node.attrs.integer("stride_h", 1), output.shape[1]};
    const Axis w{input.shape[2], weights.shape[2], node.attrs.integer("stride_w", 1), output.shape[2]};
    if (h.stride < 1 || w.stride < 1) continue;
    if (h.right_crop() == h.delegate_crop() && w.right_crop() == w.delegate_crop()) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    const bool in_w = w.right_crop() != w.delegate_crop();
    const Axis& axis = in_w ? w : h;
    result.message = fmt::format(
        "TRANSPOSE_CONV with padding SAME, kernel {}, stride {}, input {}: the accelerator crops {} instead "
        "of {} in front, the result is shifted by {} along {}",
        axis.kernel, axis.stride, axis.input, axis.delegate_crop(), axis.right_crop(),
        axis.delegate_crop() - axis.right_crop(), in_w ? "width (time)" : "height");
    result.words = {{"stride", std::to_string(axis.stride)},
                    {"first", std::to_string(axis.right_crop())},
                    {"behind", std::to_string(axis.right_crop() + axis.output)}};
    if (output.shape[1] > h.full() || output.shape[2] > w.full()) {
      result.state = DetectResult::State::declined;
      result.reason =
          "the output is longer than (input - 1) * stride + kernel, so it cannot be cut from the unpadded "
          "result";
      results.push_back(std::move(result));
      continue;
    }
    PatchBuilder patch(graph, context.graph_index, "padding VALID, then cut the result with SLICE");
    TfliteBuilder ops(patch);
    const Shape full = {output.shape[0], h.full(), w.full(), output.shape[3]};
    const ValueId whole = ops.value_like(node.outputs[0], full);
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = ops.int32s(full);
    ops.copy_node(node, std::move(inputs), {whole});
    Node& valid = patch.patch().new_nodes.back();
    valid.attrs.set("padding", EnumValue{1, "VALID"});
    valid.version = node.version;
    patch.remove(id);
    ops.slice(whole, std::vector<std::int64_t>{0, h.right_crop(), w.right_crop(), 0}, output.shape,
              node.outputs[0]);
    result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
