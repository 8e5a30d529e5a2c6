#include "lib/op/work.h"

#include <algorithm>

#include "lib/op/ops.h"

namespace md {

std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMostWork : std::min(product, kMostWork);
}

std::int64_t bounded_elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count = bounded_product(count, std::max<std::int64_t>(dim, 1));
  return count;
}

std::int64_t dimension_from_end(const Shape& shape, std::size_t from_end) {
  return shape.size() < from_end ? 1 : std::max<std::int64_t>(shape[shape.size() - from_end], 1);
}

const Shape* operand_shape(const Graph& graph, const Node& node, std::size_t operand) {
  if (operand >= node.inputs.size() || node.inputs[operand] < 0) return nullptr;
  return &graph.value(node.inputs[operand]).shape;
}

std::int64_t reduction_length(const Graph& graph, const Node& node) {
  const OpSpec* row = row_of(graph, node);
  return row && row->terms ? std::max<std::int64_t>(row->terms(graph, node), 1) : 1;
}

std::int64_t multiply_adds(const Graph& graph, const Node& node) {
  const OpSpec* row = row_of(graph, node);
  if (row && row->multiply_adds) return row->multiply_adds(graph, node);
  if (row && row->moves()) return 0;
  std::int64_t elements = 0;
  for (const ValueId id : node.outputs)
    if (id >= 0) elements = std::max(elements, bounded_elements(graph.value(id).shape));
  return elements;
}

std::int64_t total_multiply_adds(const Model& model) {
  std::int64_t total = 0;
  for (const Graph& graph : model.graphs)
    for (const NodeId id : graph.order)
      total = std::min(total + multiply_adds(graph, graph.node(id)), kMostWork);
  return total;
}

}  // namespace md
