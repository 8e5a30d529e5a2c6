#include "lib/diagnose/cost.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace md {
namespace {

/// Sizes come from a file: what passes the most that is counted stays there.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMostWork : std::min(product, kMostWork);
}

std::int64_t elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count = times(count, std::max<std::int64_t>(dim, 1));
  return count;
}

const Value* operand(const Graph& graph, const Node& node, std::size_t at) {
  return at < node.inputs.size() && node.inputs[at] >= 0 ? &graph.value(node.inputs[at]) : nullptr;
}

std::int64_t output_elements(const Graph& graph, const Node& node) {
  std::int64_t count = 0;
  for (const ValueId id : node.outputs)
    if (id >= 0) count = std::max(count, elements(graph.value(id).shape));
  return count;
}

std::int64_t dim(const Value* value, int from_end) {
  if (!value || value->rank() < from_end) return 1;
  return std::max<std::int64_t>(value->shape[value->shape.size() - static_cast<std::size_t>(from_end)], 1);
}

template <std::size_t N>
bool one_of(std::string_view op, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// Operators that only move, view or retype data.
constexpr std::array<std::string_view, 54> kMovement = {"RESHAPE",
                                                        "TRANSPOSE",
                                                        "SLICE",
                                                        "STRIDED_SLICE",
                                                        "CONCATENATION",
                                                        "GATHER",
                                                        "GATHER_ND",
                                                        "PAD",
                                                        "PADV2",
                                                        "MIRROR_PAD",
                                                        "TILE",
                                                        "BROADCAST_TO",
                                                        "SQUEEZE",
                                                        "EXPAND_DIMS",
                                                        "PACK",
                                                        "UNPACK",
                                                        "SPLIT",
                                                        "SPLIT_V",
                                                        "REVERSE_V2",
                                                        "SPACE_TO_DEPTH",
                                                        "DEPTH_TO_SPACE",
                                                        "SHAPE",
                                                        "FILL",
                                                        "CAST",
                                                        "DEQUANTIZE",
                                                        "QUANTIZE",
                                                        "SELECT",
                                                        "SELECT_V2",
                                                        "RESIZE_NEAREST_NEIGHBOR",
                                                        "aten.view.default",
                                                        "aten.reshape.default",
                                                        "aten.permute.default",
                                                        "aten.transpose.int",
                                                        "aten.slice.Tensor",
                                                        "aten.select.int",
                                                        "aten.cat.default",
                                                        "aten.expand.default",
                                                        "aten.clone.default",
                                                        "aten.detach.default",
                                                        "aten.detach_copy.default",
                                                        "aten.alias.default",
                                                        "aten.unsqueeze.default",
                                                        "aten.squeeze.dim",
                                                        "aten.to.dtype",
                                                        "aten._to_copy.default",
                                                        "aten.full.default",
                                                        "aten.where.self",
                                                        "aten.index_select.default",
                                                        "aten.stack.default",
                                                        "aten.arange.default",
                                                        "aten.view_copy.default",
                                                        "aten.slice_scatter.default",
                                                        "aten.select_scatter.default",
                                                        "aten._assert_scalar.default"};

constexpr std::array<std::string_view, 6> kMatrixProduct = {"BATCH_MATMUL",     "aten.mm.default",
                                                            "aten.bmm.default", "aten.matmul.default",
                                                            "MatMul",           "aten.dot.default"};

}  // namespace

std::int64_t multiply_adds(const Graph& graph, const Node& node) {
  const std::string_view op = node.op;
  const std::int64_t out = output_elements(graph, node);
  if (one_of(op, kMovement)) return 0;
  if (op == "FULLY_CONNECTED" || op == "aten.linear.default" || op == "Gemm")
    return times(out, dim(operand(graph, node, 1), 1));
  if (op == "aten.addmm.default") return times(out, dim(operand(graph, node, 1), 1));
  if (one_of(op, kMatrixProduct)) {
    const bool transposed = node.attrs.flag("adj_x") || node.attrs.flag("adjoint_lhs");
    return times(out, dim(operand(graph, node, 0), transposed ? 2 : 1));
  }
  if (op == "CONV_2D" || op == "CONV_3D" || op == "DEPTHWISE_CONV_2D") {
    const Value* filter = operand(graph, node, 1);
    if (!filter || filter->shape.empty()) return out;
    const std::int64_t taps = elements(filter->shape);
    const std::int64_t filters =
        op == "CONV_2D" ? std::max<std::int64_t>(filter->shape[0], 1) : dim(filter, 1);
    return times(out, taps / filters);
  }
  if (op == "TRANSPOSE_CONV") {
    const Value *filter = operand(graph, node, 1), *input = operand(graph, node, 2);
    if (!filter || !input || filter->shape.empty()) return out;
    return times(elements(input->shape) / dim(input, 1), elements(filter->shape));
  }
  if (op == "aten.convolution.default" || op == "aten.conv2d.default" || op == "aten.conv1d.default" ||
      op == "Conv") {
    const Value* filter = operand(graph, node, 1);
    if (!filter || filter->shape.empty()) return out;
    return times(out, elements(filter->shape) / std::max<std::int64_t>(filter->shape[0], 1));
  }
  if (op == "SUM" || op == "MEAN" || op.starts_with("REDUCE_") || op.ends_with("_POOL_2D")) {
    const Value* input = operand(graph, node, 0);
    return input ? elements(input->shape) : out;
  }
  return out;
}

std::int64_t total_multiply_adds(const Model& model) {
  std::int64_t total = 0;
  for (const Graph& graph : model.graphs)
    for (const NodeId id : graph.order)
      total = std::min(total + multiply_adds(graph, graph.node(id)), kMostWork);
  return total;
}

ReportedCost cost_of_change(const Model& before, const Model& after) {
  ReportedCost cost;
  const auto add = [&cost](const Model& model, int sign) {
    for (const Graph& graph : model.graphs) {
      cost.ops += sign * static_cast<std::int64_t>(graph.order.size());
      for (std::size_t v = 0; v < graph.values.size(); ++v) {
        const Value& value = graph.values[v];
        const auto id = static_cast<ValueId>(v);
        if (value.is_constant() && (!graph.uses(id).empty() || graph.is_output(id)))
          cost.bytes += sign * static_cast<std::int64_t>(value.constant->bytes.size());
      }
    }
  };
  add(after, 1);
  add(before, -1);
  cost.macs = total_multiply_adds(after) - total_multiply_adds(before);
  return cost;
}

}  // namespace md
