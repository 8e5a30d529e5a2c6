// Two identical operands: one of them through a same-shape RESHAPE. The better answer for a softmax over one
// element is in the page's rewrite blocks.
#include "lib/edit/builder.h"
#include "lib/op/ops.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

Patch copy_one_operand(const DetectContext& context, NodeId id) {
  PatchBuilder builder(context.graph, context.graph_index, "one operand through a RESHAPE to its own shape");
  const ValueId x = context.graph.node(id).inputs[0];
  const Value& value = context.graph.value(x);
  const ValueId copy = builder.add_value(value.name + "/copy", value.dtype, value.shape, value.quantization);
  Node reshape;
  reshape.op = "RESHAPE";
  reshape.inputs = {x, builder.add_int32(value.name + "/shape", value.shape)};
  reshape.outputs = {copy};
  reshape.version = 0;
  reshape.layer = context.graph.node(id).layer;
  reshape.attrs = with_defaults(Format::tflite, reshape);
  builder.add_node(std::move(reshape));
  builder.rewire(id, 1, copy);
  return builder.take();
}

}  // namespace

std::vector<DetectResult> LRT016(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = context.graph.node(id);
    if (node.inputs.size() != 2 || node.inputs[0] != node.inputs[1] || node.inputs[0] < 0) continue;
    const Value& value = context.graph.value(node.inputs[0]);
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs.empty() ? none_id : node.outputs[0];
    result.message = node.op + " reads \"" + value.name + "\" twice";
    if (value.constant) {
      result.state = DetectResult::State::declined;
      result.reason = "\"" + value.name + "\" is a constant: the whole operator can be folded (LRT017)";
    } else if (!element_count(value.shape)) {
      result.state = DetectResult::State::declined;
      result.reason = "\"" + value.name + "\" has a dimension that is not known before run time";
    } else {
      result.fixes.emplace_back(copy_one_operand(context, id));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
