#include "rules/aten/retype.h"

namespace md {
namespace {

/// A quantized kernel of the portable library with a bfloat16 argument.
std::vector<DetectResult> in_lowered(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const NodeId id : context.graph.order) {
    const Node& node = context.graph.node(id);
    if (!node.op.starts_with("quantized_decomposed::")) continue;
    bool bf16 = false;
    for (const std::vector<ValueId>* list : {&node.inputs, &node.outputs})
      for (const ValueId v : *list) bf16 = bf16 || (v >= 0 && context.graph.value(v).dtype == DType::bf16);
    if (!bf16) continue;
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.nodes = {id};
    result.message = node.op + " has a bfloat16 argument, which its kernel refuses";
    result.reason =
        "fix the .pt2 before quantizing (modeldoctor fix model.pt2 --target executorch-xnnpack), quantize "
        "and lower again";
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

std::vector<DetectResult> ETX014(const DetectContext& context) {
  if (context.model.format == Format::pte) return in_lowered(context);
  return retype_region(context, DType::bf16, DType::f32,
                       "{} values are bfloat16; quantized XNNPACK operators read and write float32 only");
}

}  // namespace md
