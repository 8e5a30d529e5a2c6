#include "lib/edit/builder.h"

#include <algorithm>

#include "lib/graph/encode.h"

namespace md {

PatchBuilder::PatchBuilder(const Graph& graph, int graph_index, std::string title) : graph_(graph) {
  patch_.graph = graph_index;
  patch_.title = std::move(title);
}

ValueId PatchBuilder::add_value(std::string name, DType dtype, Shape shape,
                                std::optional<Quantization> quantization) {
  Value value;
  value.name = std::move(name);
  value.dtype = dtype;
  value.shape = std::move(shape);
  value.quantization = std::move(quantization);
  patch_.new_values.push_back(std::move(value));
  return new_value(patch_.new_values.size() - 1);
}

ValueId PatchBuilder::add_constant(std::string name, DType dtype, Shape shape,
                                   std::vector<std::uint8_t> bytes,
                                   std::optional<Quantization> quantization) {
  const ValueId id = add_value(std::move(name), dtype, std::move(shape), std::move(quantization));
  patch_.new_values.back().constant = Constant::own(std::move(bytes));
  return id;
}

ValueId PatchBuilder::add_constant(std::string name, DType dtype, Shape shape, std::span<const double> values,
                                   std::optional<Quantization> quantization) {
  auto bytes = encode(dtype, shape, values, quantization ? &*quantization : nullptr);
  return add_constant(std::move(name), dtype, std::move(shape), std::move(bytes), std::move(quantization));
}

ValueId PatchBuilder::add_int32(std::string name, std::span<const std::int64_t> values) {
  const std::vector<double> numbers(values.begin(), values.end());
  return add_constant(std::move(name), DType::i32, {static_cast<std::int64_t>(values.size())}, numbers);
}

ValueId PatchBuilder::add_int32(std::string name, std::initializer_list<std::int64_t> values) {
  return add_int32(std::move(name), std::span<const std::int64_t>(values.begin(), values.size()));
}

void PatchBuilder::add_node(std::string op, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
                            Attributes attrs, int version) {
  Node node;
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attrs = std::move(attrs);
  node.version = version;
  patch_.new_nodes.push_back(std::move(node));
}

void PatchBuilder::remove(NodeId node) {
  if (std::find(patch_.removed.begin(), patch_.removed.end(), node) == patch_.removed.end())
    patch_.removed.push_back(node);
}

const Value& PatchBuilder::value(ValueId id) const {
  return is_new_value(id) ? patch_.new_values[new_value_index(id)] : graph_.value(id);
}

}  // namespace md
