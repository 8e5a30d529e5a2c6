#include "lib/format/tflite/dialect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/edit/builder.h"
#include "lib/format/tflite/kernels.h"
#include "lib/format/tflite/op_versions.h"
#include "lib/format/tflite/operators.h"

namespace md {
namespace {

constexpr KernelGroup kernel_groups[] = {
    unary_kernels,     binary_kernels,        logic_kernels,     movement_kernels,
    padding_kernels,   slicing_kernels,       gathering_kernels, reduction_kernels,
    matmul_kernels,    convolution_kernels,   depthwise_kernels, transpose_conv_kernels,
    pooling_kernels,   normalization_kernels, shape_kernels,     quantization_kernels,
    resize_kernels,    sorting_kernels,       control_kernels,   spectral_kernels,
    recurrent_kernels, stablehlo_kernels,     bit_kernels,       stablehlo_indexed_kernels,
};

bool recognizes(Bytes file) { return file.size() >= 8 && std::memcmp(file.data() + 4, "TFL3", 4) == 0; }

bool agree(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](std::int64_t x, std::int64_t y) { return x == y || x < 0 || y < 0; });
}

/// Operands that must be of one type, by position.
std::pair<std::size_t, std::size_t> alike(const OpSpec& spec, const Node& node) {
  if (spec.binary || spec.compare) return {0, 2};
  if (node.op == "SELECT" || node.op == "SELECT_V2") return {1, 3};
  if (node.op == "CONCATENATION" || node.op == "PACK") return {0, node.inputs.size()};
  return {0, 0};
}

std::optional<std::string> misfit(const Graph& graph, const Node& node) {
  const OpSpec* spec = find_op(dialect_tflite, node.op);
  if (!spec) return std::nullopt;
  std::vector<const Value*> operands;
  for (const ValueId v : node.inputs) operands.push_back(v < 0 ? nullptr : &graph.value(v));
  const auto [first, last] = alike(*spec, node);
  for (std::size_t i = first; i < last && i < operands.size(); ++i)
    if (operands[first] && operands[i] && operands[first]->dtype != operands[i]->dtype)
      return fmt::format("its operands are {} and {}", name(operands[first]->dtype),
                         name(operands[i]->dtype));
  const auto types = infer_tflite_types(node, operands, node.outputs.size());
  if (!types) return types.error().contradiction ? std::optional(types.error().why) : std::nullopt;
  for (std::size_t i = 0; i < types->size(); ++i) {
    if (node.outputs[i] < 0) continue;
    const Value& declared = graph.value(node.outputs[i]);
    const ValueType& type = (*types)[i];
    if (type.dtype != declared.dtype || !agree(type.shape, declared.shape))
      return fmt::format("its result is declared {} of shape {}, it is {} of shape {}", name(declared.dtype),
                         shape_text(declared.shape), name(type.dtype), shape_text(type.shape));
  }
  return std::nullopt;
}

/// The body that a composite decomposes to is not executed: the composite itself runs.
std::vector<int> executed_graphs(const Model& model) {
  std::vector<char> decomposition(model.graphs.size(), 0);
  for (const Graph& graph : model.graphs)
    for (const NodeId id : graph.order)
      if (graph.node(id).op == "STABLEHLO_COMPOSITE")
        for (const std::int32_t body : graph.node(id).subgraphs)
          if (body >= 0 && static_cast<std::size_t>(body) < decomposition.size())
            decomposition[static_cast<std::size_t>(body)] = 1;
  std::vector<int> graphs;
  for (std::size_t g = 0; g < model.graphs.size(); ++g)
    if (!decomposition[g]) graphs.push_back(static_cast<int>(g));
  return graphs;
}

void copy(PatchBuilder& patch, ValueId from, ValueId to, const Shape& shape, const std::string& name) {
  Node reshape;
  reshape.op = "RESHAPE";
  reshape.inputs = {from, patch.add_int32(name, shape)};
  reshape.outputs = {to};
  reshape.version = 0;
  reshape.attrs = with_defaults(dialect_tflite, reshape);
  patch.add_node(std::move(reshape));
}

}  // namespace

constinit const Dialect dialect_tflite = {
    .name = "tflite",
    .extension = ".tflite",
    .recognizes = recognizes,
    .open = open_tflite,
    .operators = tflite_ops,
    .custom_operator = "CUSTOM",
    .infer = infer_tflite_types,
    .complete_attributes = set_derived_attributes,
    .misfit = misfit,
    .evaluated_terms = evaluated_terms,
    .kernels = kernel_groups,
    .executed_graphs = executed_graphs,
    .first_unsized = first_unsized_value,
    .copy = copy,
    .minimal_version = minimal_operator_version,
    .settle = settle_operator_versions,
    .default_target = "litert-gpu",
    .lines_name_nodes = true,
};

}  // namespace md
