// FULLY_CONNECTED whose weights come out of a DEQUANTIZE of int8 (weight-only quantization): the accelerator
// lays the dequantized rank-2 matrix out as (N,1,1,K) where the operator wants (1,1,N,K), and fails while it
// builds the kernel.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

bool is_dequantized_integer(const Graph& graph, ValueId weights) {
  const Node* from = producer_of(graph, weights);
  if (!from || from->op != "DEQUANTIZE") return false;
  const Value& stored = graph.value(from->inputs[0]);
  return stored.is_constant() && is_integer(stored.dtype) && stored.rank() == 2;
}

/// A 1x1 convolution over the rows of x with the same stored weights, whose shape alone is another.
Patch as_convolution(const DetectContext& context, NodeId id) {
  const Graph& graph = context.graph;
  const Node& node = graph.node(id);
  PatchBuilder patch(graph, context.graph_index, "1x1 CONV_2D with the same int8 weights");
  TfliteBuilder ops(patch);
  const Node& dequantize = *producer_of(graph, node.inputs[1]);
  Value stored = graph.value(dequantize.inputs[0]);
  const std::int64_t outputs = stored.shape[0], depth = stored.shape[1];
  const Shape kernel = {outputs, 1, 1, depth};
  stored.shape = kernel;
  if (stored.quantization && stored.quantization->scale.size() > 1 && stored.quantization->axis != 0)
    return {};
  patch.patch().new_values.push_back(stored);
  const ValueId constant = new_value(patch.patch().new_values.size() - 1);
  const ValueId weights = ops.value_like(node.inputs[1], kernel);
  ops.copy_node(dequantize, {constant}, {weights});
  patch.patch().new_nodes.back().version = dequantize.version;
  const auto total = element_count(ops.shape(node.inputs[0]));
  if (!total || depth == 0 || *total % depth != 0) return {};
  const std::int64_t rows = *total / depth;
  const ValueId x = ops.reshape(node.inputs[0], {1, 1, rows, depth});
  const ValueId product = ops.value_like(node.outputs[0], {1, 1, rows, outputs});
  ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : none_id;
  if (bias == none_id)
    bias = ops.floats("bias", {outputs}, std::vector<double>(static_cast<std::size_t>(outputs), 0.0));
  Attributes attrs;
  attrs.set("padding", EnumValue{1, "VALID"});
  attrs.set("stride_w", std::int64_t{1});
  attrs.set("stride_h", std::int64_t{1});
  attrs.set("dilation_w_factor", std::int64_t{1});
  attrs.set("dilation_h_factor", std::int64_t{1});
  if (const AttrValue* activation = node.attrs.find("fused_activation_function"))
    attrs.set("fused_activation_function", *activation);
  patch.add_node("CONV_2D", {x, weights, bias}, {product}, std::move(attrs));
  ops.reshape(product, ops.shape(node.outputs[0]), node.outputs[0]);
  patch.remove(id);
  const NodeId old = graph.producer(node.inputs[1]);
  if (only_reader(graph, node.inputs[1]) == id && !graph.is_output(node.inputs[1])) patch.remove(old);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT046(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "FULLY_CONNECTED" || node.inputs.size() < 2 ||
        !is_dequantized_integer(graph, node.inputs[1]))
      continue;
    DetectResult result;
    result.nodes = {id, graph.producer(node.inputs[1])};
    result.value = node.inputs[1];
    const Shape& weights = graph.value(node.inputs[1]).shape;
    result.message = fmt::format(
        "FULLY_CONNECTED with weight-only int8 weights [{}]: the accelerator cannot build the kernel, with "
        "or without CPU fallback",
        shape_text(weights));
    Patch patch = is_static(graph.value(node.inputs[0])) ? as_convolution(context, id) : Patch{};
    if (patch.empty()) {
      result.state = DetectResult::State::declined;
      result.reason = "its shapes are not known, or its weights are quantized along the inputs";
    } else {
      result.fixes.emplace_back(std::move(patch));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
