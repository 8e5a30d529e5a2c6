// CONV_2D with groups (the weights see fewer channels than the input has): right on the accelerator only when
// both the input and the output channels of a group are multiples of 4; otherwise wrong, or the process dies
// while it compiles. Integer weights are wrong for any number of channels when they come out of a DEQUANTIZE,
// or when the kernel is 1 x 1.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/graph/encode.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

constexpr std::int64_t most_groups = 64;  ///< more operators than this cost more than they mend

/// Rows [begin, begin + count) of a constant's first axis, with its quantization cut likewise.
ValueId rows_of(PatchBuilder& patch, const Value& from, std::int64_t begin, std::int64_t count) {
  Shape shape = from.shape;
  const std::size_t row = from.constant->bytes.size() / static_cast<std::size_t>(shape[0]);
  shape[0] = count;
  const auto first =
      from.constant->bytes.begin() + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(begin));
  std::vector<std::uint8_t> bytes(first,
                                  first + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(count)));
  std::optional<Quantization> quantization = from.quantization;
  if (quantization && quantization->scale.size() > 1) {
    const auto cut = [&](auto& list) {
      if (list.size() <= 1) return;
      list.erase(list.begin(), list.begin() + begin);
      list.resize(static_cast<std::size_t>(count));
    };
    cut(quantization->scale);
    cut(quantization->zero_point);
    cut(quantization->min);
    cut(quantization->max);
  }
  return patch.add_constant(from.name, from.dtype, std::move(shape), std::move(bytes),
                            std::move(quantization));
}

/// The DEQUANTIZE of a constant that makes the weights, or null.
const Node* unpacks(const Graph& graph, ValueId weights) {
  const Node* node = producer_of(graph, weights);
  return node && node->op == "DEQUANTIZE" && graph.value(node->inputs[0]).is_constant() ? node : nullptr;
}

/// What about these integer weights makes every grouped convolution wrong; empty: nothing.
std::string wrong_for_any_width(const Graph& graph, ValueId id) {
  const Value& weights = graph.value(id);
  if (const Node* node = unpacks(graph, id); node && is_integer(graph.value(node->inputs[0]).dtype))
    return "integer weights that a DEQUANTIZE turns into floats";
  if (is_integer(weights.dtype) && weights.shape[1] == 1 && weights.shape[2] == 1)
    return "integer weights of a 1 x 1 kernel";
  return {};
}

bool can_be_cut(const Value& value) {
  if (!value.is_constant() || value.sparsity || value.shape.empty() || bit_width(value.dtype) < 8)
    return false;
  const auto count = element_count(value.shape);
  if (!count || *count == 0 || value.constant->bytes.size() != storage_bytes(value.dtype, *count))
    return false;
  return !value.quantization || value.quantization->scale.size() <= 1 ||
         (value.quantization->axis == 0 &&
          static_cast<std::int64_t>(value.quantization->scale.size()) == value.shape[0]);
}

Patch one_conv_a_group(const DetectContext& context, NodeId id, std::int64_t groups) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index,
                     fmt::format("one CONV_2D for each of the {} groups", groups));
  TfliteBuilder ops(patch);
  const Shape in = ops.shape(node.inputs[0]), out = ops.shape(node.outputs[0]);
  const std::int64_t in_width = in[3] / groups, out_width = out[3] / groups;
  const Node* unpack = unpacks(context.graph, node.inputs[1]);
  const ValueId stored = unpack ? unpack->inputs[0] : node.inputs[1];
  std::vector<ValueId> parts;
  for (std::int64_t g = 0; g < groups; ++g) {
    const ValueId x = ops.slice(node.inputs[0], std::vector<std::int64_t>{0, 0, 0, g * in_width},
                                Shape{in[0], in[1], in[2], in_width});
    ValueId weights = rows_of(patch, context.graph.value(stored), g * out_width, out_width);
    if (unpack) {
      const ValueId floats = ops.value_like(node.inputs[1], ops.shape(weights));
      ops.copy_node(*unpack, {weights}, {floats});
      patch.patch().new_nodes.back().version = unpack->version;
      weights = floats;
    }
    std::vector<ValueId> inputs = {x, weights};
    if (node.inputs.size() > 2)
      inputs.push_back(node.inputs[2] < 0
                           ? none_id
                           : rows_of(patch, context.graph.value(node.inputs[2]), g * out_width, out_width));
    parts.push_back(ops.value_like(node.outputs[0], Shape{out[0], out[1], out[2], out_width}));
    ops.copy_node(node, std::move(inputs), {parts.back()});
    patch.patch().new_nodes.back().version = node.version;
  }
  ops.concatenation(parts, 3, node.outputs[0]);
  patch.remove(id);
  return patch.take();
}

/// One input channel a group: a depthwise convolution, whose weights are the same numbers in another order.
Patch as_depthwise(const DetectContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  const Value& weights = context.graph.value(node.inputs[1]);
  const auto numbers = decode(weights);
  if (!numbers || weights.quantization) return {};
  PatchBuilder patch(context.graph, context.graph_index, "DEPTHWISE_CONV_2D");
  const std::int64_t channels = weights.shape[0], area = weights.shape[1] * weights.shape[2];
  std::vector<double> turned(numbers->size());
  for (std::int64_t o = 0; o < channels; ++o)
    for (std::int64_t p = 0; p < area; ++p)
      turned[static_cast<std::size_t>(p * channels + o)] = (*numbers)[static_cast<std::size_t>(o * area + p)];
  std::vector<ValueId> inputs = node.inputs;
  inputs[1] = patch.add_constant(weights.name, weights.dtype,
                                 {1, weights.shape[1], weights.shape[2], channels}, turned);
  Attributes attrs;
  for (const char* key : {"padding", "stride_w", "stride_h", "dilation_w_factor", "dilation_h_factor",
                          "fused_activation_function"})
    if (const AttrValue* value = node.attrs.find(key)) attrs.set(key, *value);
  attrs.set("depth_multiplier", channels / context.graph.value(node.inputs[0]).shape[3]);
  patch.add_node("DEPTHWISE_CONV_2D", std::move(inputs), node.outputs, std::move(attrs));
  patch.remove(id);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> LRT025(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "CONV_2D" || node.inputs.size() < 2) continue;
    const DType dtype = graph.value(node.outputs[0]).dtype;
    if (!is_float_value(graph, node.outputs[0]) && dtype != DType::i8 && dtype != DType::u8) continue;
    const Value& input = graph.value(node.inputs[0]);
    const Value& weights = graph.value(node.inputs[1]);
    if (input.rank() != 4 || weights.rank() != 4 || graph.value(node.outputs[0]).rank() != 4 ||
        !is_static(input) || !is_static(weights) || weights.shape[3] <= 0)
      continue;
    const std::int64_t groups = input.shape[3] / weights.shape[3];
    if (groups < 2 || input.shape[3] % weights.shape[3] != 0 || weights.shape[0] % groups != 0) continue;
    const std::int64_t in_width = weights.shape[3], out_width = weights.shape[0] / groups;
    const std::string any_width = wrong_for_any_width(graph, node.inputs[1]);
    const bool right_width = in_width % 4 == 0 && out_width % 4 == 0;
    if (any_width.empty() && (right_width || (in_width == 1 && out_width == 1))) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    const bool dies = in_width > 4 && in_width % 4 != 0;
    const std::string_view outcome =
        dies ? "the process dies while it compiles the model" : "the output is wrong";
    result.message =
        any_width.empty()
            ? fmt::format(
                  "CONV_2D with {} groups of {} input and {} output channels: the accelerator is right only "
                  "for "
                  "multiples of 4 of both; here {}",
                  groups, in_width, out_width, outcome)
            : fmt::format(
                  "CONV_2D with {} groups and {}: the accelerator is right only without groups; here {}",
                  groups, any_width, outcome);
    result.words["width"] = std::to_string(in_width);
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2] >= 0;
    if (in_width == 1 && (graph.value(node.inputs[1]).is_constant()))
      if (Patch patch = as_depthwise(context, id); !patch.empty())
        result.fixes.emplace_back(std::move(patch));
    const Node* unpack = unpacks(graph, node.inputs[1]);
    if (groups <= most_groups && can_be_cut(unpack ? graph.value(unpack->inputs[0]) : weights) &&
        (!has_bias || can_be_cut(graph.value(node.inputs[2]))))
      result.fixes.emplace_back(one_conv_a_group(context, id, groups));
    if (result.fixes.empty()) {
      // The shapes alone decide, so the fault is said even where it cannot be mended.
      result.state = DetectResult::State::advice;
      result.reason = groups > most_groups
                          ? fmt::format("{} groups would become as many operators", groups)
                          : std::string("the weights are not a plain constant that can be cut into groups");
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
