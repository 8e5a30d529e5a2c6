// Builds a Patch step by step. Values are named by ids: existing ones as they are, new ones as the builder
// returns them.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "lib/edit/patch.h"

namespace md {

class PatchBuilder {
 public:
  PatchBuilder(const Graph& graph, int graph_index, std::string title);

  /// A new intermediate value. Names are made unique by the writers; give a hint ("attn/scores").
  ValueId add_value(std::string name, DType dtype, Shape shape,
                    std::optional<Quantization> quantization = {});
  /// A new constant. `values` are stored in `dtype` (rounded; quantized with `quantization` when given).
  ValueId add_constant(std::string name, DType dtype, Shape shape, std::span<const double> values,
                       std::optional<Quantization> quantization = {});
  ValueId add_constant(std::string name, DType dtype, Shape shape, std::vector<std::uint8_t> bytes,
                       std::optional<Quantization> quantization = {});
  /// A 1-D int32 constant: shapes, permutations, axes.
  ValueId add_int32(std::string name, std::span<const std::int64_t> values);
  ValueId add_int32(std::string name, std::initializer_list<std::int64_t> values);

  /// A new node; `version` 0 asks for the lowest version that its operands need (set when the patch is
  /// applied).
  void add_node(std::string op, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
                Attributes attrs = {}, int version = 0);
  void add_node(Node node) { patch_.new_nodes.push_back(std::move(node)); }
  void remove(NodeId node);
  void rewire(NodeId node, int operand, ValueId value) { patch_.rewires.push_back({node, operand, value}); }
  void change(NodeChange change) { patch_.node_changes.push_back(std::move(change)); }
  void change(ValueChange change) { patch_.value_changes.push_back(std::move(change)); }

  /// Type and name of an existing or a new value.
  const Value& value(ValueId id) const;
  const Graph& graph() const { return graph_; }
  Patch& patch() { return patch_; }
  Patch take() { return std::move(patch_); }

 private:
  const Graph& graph_;
  Patch patch_;
};

}  // namespace md
