#include "lib/eval/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "lib/op/ops.h"

namespace md {
namespace {

/// Nodes that `value` depends on, in no order; nullopt when a run-time value is among its sources.
std::optional<std::unordered_set<NodeId>> constant_ancestors(const Graph& graph, ValueId value) {
  std::unordered_set<NodeId> nodes;
  std::vector<ValueId> open = {value};
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    if (graph.value(v).is_constant()) continue;
    const NodeId producer = graph.producer(v);
    if (producer == none_id || graph.value(v).is_variable) return std::nullopt;
    if (!nodes.insert(producer).second) continue;
    const Node& node = graph.node(producer);
    if (depends_on_state(graph, node)) return std::nullopt;
    for (const ValueId input : node.inputs)
      if (input != none_id) open.push_back(input);
  }
  return nodes;
}

}  // namespace

bool depends_on_state(const Graph& graph, const Node& node) {
  return !node.subgraphs.empty() || has_state(graph, node);
}

bool depends_on_constants_only(const Graph& graph, ValueId value) {
  return value == none_id || constant_ancestors(graph, value).has_value();
}

Result<Tensor> fold_value(const Model& model, int graph_index, ValueId value, std::int64_t max_bytes) {
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  if (value == none_id) return fail(Error::Kind::unsupported, "the operand is absent");
  const auto nodes = constant_ancestors(graph, value);
  if (!nodes)
    return fail(Error::Kind::unsupported,
                fmt::format("\"{}\" is known only at run time", graph.value(value).name));
  std::vector<NodeId> order;
  for (const NodeId id : graph.order)
    if (nodes->count(id)) order.push_back(id);
  EvaluateOptions options;
  options.max_bytes = max_bytes;
  options.max_work =
      6e9;  // stated, so that folding many values of a large graph does not weigh its constants each time
  const ValueId wanted[] = {value};
  auto tensors = evaluate_nodes(model, graph_index, order, {}, wanted, options);
  if (!tensors) return tl::make_unexpected(tensors.error());
  return std::move(tensors->at(value));
}

Value constant_value(std::string name, const Tensor& tensor) {
  Value value;
  value.name = std::move(name);
  value.dtype = tensor.dtype;
  value.shape = tensor.shape;
  if (tensor.quantization) value.quantization = *tensor.quantization;
  value.constant = Constant::own(constant_bytes(tensor));
  return value;
}

}  // namespace md
