#include "lib/graph/graph.h"

#include <fmt/format.h>

namespace md {

std::optional<std::int64_t> element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool zero = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) zero = true;
    if (!zero && __builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  if (zero) return 0;
  if (count > (std::int64_t{1} << 62)) return std::nullopt;
  return count;
}

std::string shape_text(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const std::int64_t dim : shape) {
    if (!text.empty()) text += 'x';
    text += dim < 0 ? "?" : std::to_string(dim);
  }
  return text;
}

Constant Constant::own(std::vector<std::uint8_t> bytes) {
  auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  return {Bytes(*owner), owner};
}

bool Graph::is_live(NodeId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < live_mark_.size() &&
         live_mark_[static_cast<std::size_t>(id)] != 0;
}

void Graph::index() {
  const std::size_t n = values.size();
  producer_.assign(n, none_id);
  input_mark_.assign(n, 0);
  output_mark_.assign(n, 0);
  live_mark_.assign(nodes.size(), 0);
  use_start_.assign(n + 1, 0);
  const auto valid = [n](ValueId id) { return id >= 0 && static_cast<std::size_t>(id) < n; };
  for (const NodeId id : order) {
    live_mark_[static_cast<std::size_t>(id)] = 1;
    for (const ValueId v : node(id).outputs)
      if (valid(v)) producer_[static_cast<std::size_t>(v)] = id;
    for (const ValueId v : node(id).inputs)
      if (valid(v)) ++use_start_[static_cast<std::size_t>(v) + 1];
  }
  for (std::size_t i = 0; i < n; ++i) use_start_[i + 1] += use_start_[i];
  uses_.resize(use_start_[n]);
  std::vector<std::uint32_t> next(use_start_.begin(), use_start_.end() - 1);
  for (const NodeId id : order) {
    const auto& inputs_of_node = node(id).inputs;
    for (std::size_t i = 0; i < inputs_of_node.size(); ++i)
      if (valid(inputs_of_node[i]))
        uses_[next[static_cast<std::size_t>(inputs_of_node[i])]++] = {id, static_cast<int>(i)};
  }
  for (const ValueId v : inputs)
    if (valid(v)) input_mark_[static_cast<std::size_t>(v)] = 1;
  for (const ValueId v : outputs)
    if (valid(v)) output_mark_[static_cast<std::size_t>(v)] = 1;
}

std::span<const Use> Graph::uses(ValueId id) const {
  const auto i = static_cast<std::size_t>(id);
  return {uses_.data() + use_start_[i], use_start_[i + 1] - use_start_[i]};
}

std::optional<std::string> broken_invariant(const Graph& graph) {
  enum class State : char { undefined, available, produced };
  std::vector<State> state(graph.values.size(), State::undefined);
  const auto valid = [&](ValueId id) {
    return id >= 0 && static_cast<std::size_t>(id) < graph.values.size();
  };
  std::vector<char> has_producer(graph.values.size(), 0);
  for (const NodeId id : graph.order) {
    if (id < 0 || static_cast<std::size_t>(id) >= graph.nodes.size())
      return fmt::format("the order names node {}, but there are {} nodes", id, graph.nodes.size());
    for (const ValueId v : graph.node(id).outputs)
      if (valid(v)) has_producer[static_cast<std::size_t>(v)] = 1;
  }
  for (const ValueId v : graph.inputs) {
    if (!valid(v)) return fmt::format("graph input {} is not a value", v);
    state[static_cast<std::size_t>(v)] = State::available;
  }
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    for (const ValueId v : node.inputs) {
      if (v == none_id) continue;
      if (!valid(v)) return fmt::format("node {} ({}) reads value {}, which does not exist", id, node.op, v);
      if (has_producer[static_cast<std::size_t>(v)] &&
          state[static_cast<std::size_t>(v)] != State::produced &&
          state[static_cast<std::size_t>(v)] != State::available)
        return fmt::format("node {} ({}) reads value {} before it is produced", id, node.op, v);
    }
    for (const ValueId v : node.outputs) {
      if (v == none_id) continue;
      if (!valid(v)) return fmt::format("node {} ({}) writes value {}, which does not exist", id, node.op, v);
      if (state[static_cast<std::size_t>(v)] == State::produced)
        return fmt::format("value {} is produced twice, the second time by node {} ({})", v, id, node.op);
      state[static_cast<std::size_t>(v)] = State::produced;
    }
  }
  for (const ValueId v : graph.outputs)
    if (!valid(v)) return fmt::format("graph output {} is not a value", v);
  return std::nullopt;
}

}  // namespace md
