#include "lib/rewrite/output_hazard.h"

#include <algorithm>
#include <array>

#include "lib/edit/builder.h"
#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"

namespace md {
namespace {

template <std::size_t N>
bool one_of(std::string_view op, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

/// A convolution or matrix product whose weights are float constants, into which a constant factor can be
/// merged.
bool has_mergeable_weights(const Graph& graph, const Node& node) {
  static constexpr std::array<std::string_view, 5> ops = {"CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV",
                                                          "FULLY_CONNECTED", "BATCH_MATMUL"};
  if (!one_of(node.op, ops) || node.inputs.size() < 2) return false;
  const ValueId weights = node.inputs[1];
  return is_constant_operand(graph, weights) && is_float_value(graph, weights);
}

/// ADD or MUL by a constant that has one element or one a channel, or x + x.
bool is_channel_scale(const Graph& graph, const Node& node) {
  if ((node.op != "ADD" && node.op != "MUL") || node.inputs.size() != 2) return false;
  if (node.op == "ADD" && node.inputs[0] == node.inputs[1]) return true;
  const int constant = is_constant_operand(graph, node.inputs[1]) ? 1 : 0;
  if (!is_constant_operand(graph, node.inputs[static_cast<std::size_t>(constant)])) return false;
  const Value& factor = graph.value(node.inputs[static_cast<std::size_t>(constant)]);
  const Value& result = graph.value(node.outputs[0]);
  const auto count = element_count(factor.shape);
  if (!count || result.shape.empty()) return false;
  return *count == 1 ||
         (*count == result.shape.back() && !factor.shape.empty() && factor.shape.back() == *count);
}

bool pads_nothing(const Graph& graph, const Node& conv) {
  if (conv.attrs.text("padding") == "VALID") return true;
  const Shape& weights = graph.value(conv.inputs[1]).shape;
  return weights.size() == 4 && weights[1] == 1 && weights[2] == 1;
}

bool is_merged_scale(const Graph& graph, const Node& producer, const Node& reader, ValueId value) {
  if (fused_activation(producer) != "NONE") return false;
  if (has_mergeable_weights(graph, producer)) return is_channel_scale(graph, reader);
  if (!is_channel_scale(graph, producer) || !has_mergeable_weights(graph, reader)) return false;
  const std::size_t data = reader.op == "TRANSPOSE_CONV" ? 2 : 0;
  const bool reads_data = data < reader.inputs.size() && reader.inputs[data] == value;
  const ValueId weights_of_transpose = reader.op == "TRANSPOSE_CONV" ? reader.inputs[1] : none_id;
  if (weights_of_transpose == value) return false;
  if (!reads_data) return false;
  const bool multiplies = producer.op == "MUL" || producer.inputs[0] == producer.inputs[1];
  if (multiplies) return true;
  return (reader.op == "CONV_2D" && pads_nothing(graph, reader)) || reader.op == "FULLY_CONNECTED";
}

bool is_reduced_sum(const Graph& graph, const Node& producer, const Node& reader) {
  static constexpr std::array<std::string_view, 5> reductions = {"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN",
                                                                 "REDUCE_PROD"};
  if ((producer.op != "ADD" && producer.op != "ADD_N") || producer.inputs.size() != 2 ||
      fused_activation(producer) != "NONE")
    return false;
  if (!one_of(reader.op, reductions) || producer.inputs[0] == producer.inputs[1]) return false;
  return is_runtime_operand(graph, producer.inputs[0]) && is_runtime_operand(graph, producer.inputs[1]) &&
         graph.value(producer.inputs[0]).shape == graph.value(producer.inputs[1]).shape;
}

/// Padding that becomes the reader's own: of height and width in what slides over them, of channels behind
/// the last one in an ADD.
bool is_merged_padding(const Graph& graph, const Node& producer, const Node& reader, ValueId value) {
  static constexpr std::array<std::string_view, 5> windows = {
      "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D", "MAX_POOL_2D"};
  if ((producer.op != "PAD" && producer.op != "PADV2") || producer.inputs.size() < 2) return false;
  const auto widths = integer_values(graph, producer.inputs[1]);
  const int rank = graph.value(value).rank();
  if (!widths || rank < 3 || rank > 4 || widths->size() != 2 * static_cast<std::size_t>(rank)) return false;
  const auto none_in = [&](std::size_t from, std::size_t to) {
    return std::all_of(widths->begin() + static_cast<std::ptrdiff_t>(from),
                       widths->begin() + static_cast<std::ptrdiff_t>(to),
                       [](std::int64_t w) { return w == 0; });
  };
  const std::size_t all = widths->size();
  if (one_of(reader.op, windows))
    return reader.inputs[0] == value && none_in(0, 2) && none_in(all - 2, all) && !none_in(2, all - 2);
  if (reader.op != "ADD" || reader.inputs.size() != 2 || reader.inputs[0] == reader.inputs[1]) return false;
  const ValueId other = reader.inputs[reader.inputs[0] == value ? 1 : 0];
  return is_runtime_operand(graph, other) && none_in(0, all - 1) && widths->back() > 0;
}

/// Where each node stands in the execution order; a value without producer stands before all.
std::ptrdiff_t position(const Graph& graph, ValueId value) {
  const NodeId node = value < 0 ? none_id : graph.producer(value);
  if (node == none_id) return -1;
  return std::find(graph.order.begin(), graph.order.end(), node) - graph.order.begin();
}

/// A TRANSPOSE that leaves the last axis, the channels, where it is.
bool keeps_channels(const Graph& graph, const Node& transpose) {
  const auto order = transpose.inputs.size() > 1 ? integer_values(graph, transpose.inputs[1]) : std::nullopt;
  return order && !order->empty() && order->back() + 1 == static_cast<std::int64_t>(order->size());
}

/// Moves whole pixels twice: the second is computed from what the first reads. Measured on 2.1.3 and 2.1.5.
bool is_linked_move(const Graph& graph, const Node& producer, const Node& reader, ValueId value) {
  if (producer.op != "TRANSPOSE" || !keeps_channels(graph, producer)) return false;
  if (reader.op == "TRANSPOSE") return keeps_channels(graph, reader);
  const Shape& shape = graph.value(value).shape;
  return reader.op == "RESHAPE" && !shape.empty() && shape.back() % 4 == 0;
}

bool is_linked(const Graph& graph, const Node& producer, const Node& reader, ValueId value) {
  static constexpr std::array<std::string_view, 21> unary = {
      "ABS",        "CEIL",         "COS",   "ELU",      "EXP",  "FLOOR",  "GELU",
      "HARD_SWISH", "LEAKY_RELU",   "LOG",   "LOGISTIC", "NEG",  "PRELU",  "RELU",
      "RELU6",      "RELU_N1_TO_1", "RSQRT", "SIN",      "SQRT", "SQUARE", "TANH"};
  static constexpr std::array<std::string_view, 8> binary = {
      "ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "POW", "SQUARED_DIFFERENCE"};
  if (producer.op == "RESHAPE") return false;
  if (is_linked_move(graph, producer, reader, value)) return true;
  if (graph.value(reader.outputs[0]).shape != graph.value(value).shape) return false;
  if (one_of(reader.op, unary)) return true;
  if (!one_of(reader.op, binary) || reader.inputs.size() != 2) return false;
  if (reader.inputs[0] == reader.inputs[1]) return true;
  const std::size_t at = reader.inputs[0] == value ? 0 : 1;
  const ValueId other = reader.inputs[1 - at];
  if (is_constant_operand(graph, other)) return true;
  if (at == 1 && reader.op != "ADD" && reader.op != "MUL") return false;
  return position(graph, other) < position(graph, value);  // it is linked to the operand that is made last
}

}  // namespace

std::optional<OutputHazard> output_hazard(const Graph& graph, ValueId output) {
  const NodeId producer = graph.producer(output);
  if (producer == none_id || !graph.is_output(output) || !is_float_value(graph, output)) return std::nullopt;
  const Node& from = graph.node(producer);
  ValueId value = output;
  NodeId reader = only_reader(graph, value);
  // A RESHAPE that changes nothing is dropped before the fusion.
  while (reader != none_id && graph.node(reader).op == "RESHAPE") {
    const ValueId next = graph.node(reader).outputs[0];
    if (graph.value(next).shape != graph.value(value).shape || !is_private(graph, next)) break;
    value = next;
    reader = only_reader(graph, value);
  }
  if (reader == none_id || graph.node(reader).outputs.empty()) return std::nullopt;
  const Node& to = graph.node(reader);
  if (is_merged_scale(graph, from, to, value))
    return OutputHazard{OutputHazard::Kind::merged_scale, producer, reader};
  if (is_merged_padding(graph, from, to, value))
    return OutputHazard{OutputHazard::Kind::merged_padding, producer, reader};
  if (is_reduced_sum(graph, from, to)) return OutputHazard{OutputHazard::Kind::reduced_sum, producer, reader};
  if (is_linked(graph, from, to, value)) return OutputHazard{OutputHazard::Kind::linked, producer, reader};
  return std::nullopt;
}

Patch output_copy_patch(const Graph& graph, int graph_index, ValueId output, const char* title) {
  PatchBuilder patch(graph, graph_index, title);
  TfliteBuilder ops(patch);
  const ValueId made = ops.value_like(output, graph.value(output).shape);
  const NodeId producer = graph.producer(output);
  const auto& outputs = graph.node(producer).outputs;
  const auto at = std::find(outputs.begin(), outputs.end(), output) - outputs.begin();
  NodeChange change;
  change.node = producer;
  change.outputs.emplace_back(static_cast<int>(at), made);
  patch.change(std::move(change));
  for (const Use& use : graph.uses(output)) patch.rewire(use.node, use.operand, made);
  ops.reshape(made, graph.value(output).shape, output);
  return patch.take();
}

}  // namespace md
