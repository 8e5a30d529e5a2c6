// TRANSPOSE_CONV of version 4: the fused activation taken out, the version lowered.
#include <fmt/format.h>

#include "lib/edit/builder.h"
#include "lib/format/tflite/op_versions.h"
#include "lib/rule/page/detector.h"
#include "lib/target/target.h"

namespace md {
namespace {

constexpr int newest_supported = 3;

/// The activation as an operator; "" when there is none, nullopt when no operator does the same.
std::optional<std::string> operator_for(std::string_view activation) {
  if (activation.empty() || activation == "NONE") return "";
  if (activation == "RELU" || activation == "RELU6" || activation == "RELU_N1_TO_1" || activation == "TANH")
    return std::string(activation);
  return std::nullopt;
}

bool is_quantized(const Value& value) {
  return value.quantization && !value.quantization->scale.empty() && !is_float(value.dtype);
}

Patch split(const DetectContext& context, NodeId id, const std::string& activation, int version) {
  const Node& node = context.graph.node(id);
  PatchBuilder builder(context.graph, context.graph_index,
                       activation.empty()
                           ? fmt::format("operator version {}", version)
                           : fmt::format("{} behind the convolution, version {}", activation, version));
  NodeChange change;
  change.node = id;
  change.version = version;
  if (!activation.empty()) {
    const Value& result = context.graph.value(node.outputs[0]);
    const ValueId raw =
        builder.add_value(result.name + "/conv", result.dtype, result.shape, result.quantization);
    change.set_attrs.set("fused_activation_function", EnumValue{0, "NONE"});
    change.outputs.emplace_back(0, raw);
    builder.add_node(activation, {raw}, {node.outputs[0]});
  }
  builder.change(std::move(change));
  return builder.take();
}

}  // namespace

std::vector<DetectResult> LRT007(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = context.graph.node(id);
    if (node.op != "TRANSPOSE_CONV" || node.version <= newest_supported || node.outputs.size() != 1) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    const std::string_view fused = node.attrs.text("fused_activation_function");
    result.message =
        fmt::format("TRANSPOSE_CONV has version {}{}", node.version,
                    fused.empty() || fused == "NONE" ? "" : fmt::format(" because of its fused {}", fused));
    Node plain = node;
    plain.attrs.set("fused_activation_function", EnumValue{0, "NONE"});
    const int version = minimal_operator_version(context.graph, plain);
    const auto activation = operator_for(fused);
    if (version > newest_supported) {
      result.state = DetectResult::State::declined;
      result.reason = fmt::format("its operands need version {}", version);
    } else if (!activation || (*activation == "TANH" && is_quantized(context.graph.value(node.outputs[0])))) {
      result.state = DetectResult::State::declined;
      result.reason = fmt::format("the fused {} cannot be an operator of its own here", fused);
    } else {
      result.fixes.emplace_back(split(context, id, *activation, version));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
