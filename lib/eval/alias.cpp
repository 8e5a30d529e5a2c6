#include "lib/eval/alias.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/eval/node_place.h"
#include "lib/op/ops.h"

namespace md {
namespace {

/// What the value shares memory with: the operand of a view or of an in-place node; none_id when it has its
/// own.
ValueId shares_with(const Graph& graph, ValueId v) {
  const NodeId maker = graph.producer(v);
  if (maker == none_id) return none_id;
  const Node& node = graph.node(maker);
  const OpSpec* row = row_of(graph, node);
  const bool shares = row && (row->writes_operand || row->views_operand) && !node.inputs.empty();
  return shares ? node.inputs[0] : none_id;
}

ValueId root_of(const Graph& graph, ValueId v) {
  for (ValueId up = shares_with(graph, v); up != none_id; up = shares_with(graph, v)) v = up;
  return v;
}

/// Positions in the root of every element of `v`.
Result<Tensor> positions(const Graph& graph, ValueId v, ValueId root, const Shape& root_shape,
                         const ViewRunner& run_view) {
  std::vector<ValueId> chain;
  for (ValueId at = v; at != root; at = graph.node(graph.producer(at)).inputs[0])
    if (const OpSpec* row = row_of(graph, graph.node(graph.producer(at))); row && row->views_operand)
      chain.push_back(at);
  std::int64_t count = 1;
  for (const std::int64_t d : root_shape) count *= d;
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  Tensor tensor = Tensor::of_integers(DType::i64, root_shape, numbers);
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    const NodeId maker = graph.producer(*it);
    const auto& results = graph.node(maker).outputs;
    const auto which =
        static_cast<std::size_t>(std::find(results.begin(), results.end(), *it) - results.begin());
    auto next = run_view(maker, which, tensor);
    if (!next) return next;
    tensor = std::move(*next);
  }
  return tensor;
}

}  // namespace

bool writes_in_place(const Graph& graph, std::span<const NodeId> nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId id) { return writes_operand(graph, graph.node(id)); });
}

Status share_write(const Graph& graph, NodeId id, const Tensor& written, TensorMap& tensors,
                   const ViewRunner& run_view, const std::function<Result<Tensor>(ValueId)>& load) {
  const Node& node = graph.node(id);
  const ValueId self = node.inputs[0], root = root_of(graph, self);
  if (!tensors.count(root)) {
    auto loaded = load(root);
    if (!loaded) return tl::make_unexpected(loaded.error());
    tensors[root] = std::move(*loaded);
  }
  const Tensor before = tensors.at(root);
  const auto map = positions(graph, self, root, before.shape, run_view);
  if (!map) return tl::make_unexpected(map.error());
  if (map->size() != written.size() || before.element_bytes() != written.element_bytes())
    return input_error(node_place(node, node.op) + ": writes a tensor of another size or type");
  Tensor after = Tensor::make(before.dtype, before.shape, before.store() == Store::f64);
  const std::size_t width = before.element_bytes();
  std::memcpy(after.mutable_raw(), before.raw(), before.bytes());
  for (std::size_t i = 0; i < written.size(); ++i)
    std::memcpy(after.mutable_raw() + static_cast<std::size_t>(map->integer(i)) * width,
                written.raw() + i * width, width);
  after.quantization = before.quantization;
  tensors[root] = after;
  for (auto& [value, tensor] : tensors) {
    if (value == root || root_of(graph, value) != root) continue;
    const auto view = positions(graph, value, root, after.shape, run_view);
    if (!view) return tl::make_unexpected(view.error());
    if (view->size() != tensor.size()) continue;
    Tensor fresh = Tensor::make(tensor.dtype, tensor.shape, tensor.store() == Store::f64);
    for (std::size_t i = 0; i < tensor.size(); ++i)
      std::memcpy(fresh.mutable_raw() + i * width,
                  after.raw() + static_cast<std::size_t>(view->integer(i)) * width, width);
    tensor = std::move(fresh);
  }
  return {};
}

}  // namespace md
