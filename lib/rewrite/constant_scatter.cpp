#include "lib/rewrite/constant_scatter.h"

#include <numeric>

#include "lib/eval/fold.h"
#include "lib/eval/primitives/scatter.h"

namespace md {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 22;

/// The elements as rows of `size`; nullopt when a row is not taken as a whole.
std::optional<ConstantScatter> in_rows(const std::vector<std::int64_t>& source, std::int64_t operand,
                                       std::int64_t updates, std::int64_t size) {
  if (size < 1 || operand % size != 0 || updates % size != 0) return std::nullopt;
  ConstantScatter scatter{size, operand / size, updates / size, {}};
  for (std::size_t at = 0; at < source.size(); at += static_cast<std::size_t>(size)) {
    if (source[at] % size != 0) return std::nullopt;
    for (std::int64_t i = 1; i < size; ++i)
      if (source[at + static_cast<std::size_t>(i)] != source[at] + i) return std::nullopt;
    scatter.list.push_back(source[at] / size);
  }
  return scatter;
}

}  // namespace

std::optional<ConstantScatter> constant_scatter(const Model& model, int graph_index, NodeId id,
                                                std::string& reason) {
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  const Node& node = graph.node(id);
  if (node.inputs.size() < 3 || !scatter_overwrites(model, node)) {
    reason = "it computes with the old elements";
    return std::nullopt;
  }
  const Value& operand = graph.value(node.inputs[0]);
  const Value& updates = graph.value(node.inputs[2]);
  const auto size = element_count(operand.shape), added = element_count(updates.shape);
  if (!size || !added || *size == 0 || *added == 0 || *size > most_elements || *added > most_elements) {
    reason = "a shape is not known before run time, or too large";
    return std::nullopt;
  }
  if (operand.dtype != updates.dtype || operand.quantization != updates.quantization ||
      operand.quantization != graph.value(node.outputs[0]).quantization) {
    reason = "operand and updates have different types";
    return std::nullopt;
  }
  const auto indices = fold_value(model, graph_index, node.inputs[1]);
  if (!indices || indices->is_float()) {
    reason = "the places are computed at run time";
    return std::nullopt;
  }
  const auto targets =
      scatter_targets(node.attrs, operand.shape, indices->shape, updates.shape, indices->integers());
  if (!targets) {
    reason = "its windows and indices do not fit the operand";
    return std::nullopt;
  }
  std::vector<std::int64_t> source(static_cast<std::size_t>(*size));
  std::iota(source.begin(), source.end(), std::int64_t{0});
  for (std::size_t i = 0; i < targets->size(); ++i)
    if ((*targets)[i] >= 0)
      source[static_cast<std::size_t>((*targets)[i])] = *size + static_cast<std::int64_t>(i);
  std::int64_t row = *size;
  for (const std::int64_t dim : operand.shape) {
    row /= dim;
    if (auto rows = in_rows(source, *size, *added, row)) return rows;
  }
  return in_rows(source, *size, *added, 1);
}

}  // namespace md
