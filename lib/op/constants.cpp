#include "lib/op/constants.h"

#include <algorithm>
#include <cmath>

#include "lib/graph/encode.h"

namespace md {
namespace {

constexpr int deepest_look = 12, deepest_restore = 3;

std::optional<ValueRange> range_of_constant(const Graph& graph, ValueId id) {
  const auto numbers = constant_numbers(graph, id);
  if (!numbers || numbers->empty()) return std::nullopt;
  ValueRange range{.low = HUGE_VAL, .high = -HUGE_VAL};
  for (const double v : *numbers) {
    if (std::isnan(v)) return std::nullopt;
    range = {.low = std::min(range.low, v), .high = std::max(range.high, v)};
  }
  return range;
}

std::optional<ValueRange> look(const Graph& graph, ValueId id, int depth) {
  if (id < 0 || depth == 0) return std::nullopt;
  if (is_constant(graph, id)) return range_of_constant(graph, id);
  const NodeId producer = graph.producer(id);
  if (producer == none_id) return std::nullopt;
  const Node& node = graph.node(producer);
  const OpSpec* row = row_of(graph, node);
  if (!row || !row->range) return std::nullopt;
  return row->range(node, [&](ValueId operand) { return look(graph, operand, depth - 1); });
}

}  // namespace

ValueId constant_source(const Graph& graph, ValueId id) {
  for (int depth = 0; id >= 0 && depth < deepest_restore; ++depth) {
    if (graph.value(id).is_constant()) return id;
    const NodeId producer = graph.producer(id);
    if (producer == none_id) return none_id;
    const Node& node = graph.node(producer);
    const OpSpec* row = row_of(graph, node);
    if (!row || !row->restores || node.inputs.empty()) return none_id;
    id = node.inputs[0];
  }
  return none_id;
}

std::optional<std::vector<double>> constant_numbers(const Graph& graph, ValueId id) {
  const ValueId source = constant_source(graph, id);
  if (source == none_id) return std::nullopt;
  return decode(graph.value(source), true);
}

std::optional<std::vector<std::int64_t>> constant_integers(const Graph& graph, ValueId id) {
  if (id < 0) return std::nullopt;
  return decode_integers(graph.value(id));
}

std::optional<ValueRange> known_range(const Graph& graph, ValueId id) {
  return look(graph, id, deepest_look);
}

}  // namespace md
