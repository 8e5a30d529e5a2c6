// Renders new nodes, tensor types and signature entries as torch.export JSON. Names of values are given by
// the caller.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "lib/graph/graph.h"

namespace md {

/// What the JSON of a program's nodes holds; torch 2.7 and before refuse keys that they do not know.
struct Pt2Dialect {
  bool kinds = true;     ///< "kind" of an argument: positional or by name
  bool names = true;     ///< "name" of a node
  bool hop_mark = true;  ///< "is_hop_single_tensor_return" of a node
};

using ValueNames = std::function<std::string(ValueId)>;
/// The JSON of one dimension: {"as_int": 3}, or the file's own expression of a symbol.
using SizeText = std::function<std::string(const Value&, std::size_t dim)>;

/// {"dtype": 7, "sizes": [...], "strides": [...], ...} of a contiguous tensor on the CPU.
std::string render_tensor_meta(const Value& value, const SizeText& size, bool requires_grad = false);
/// {"as_tensor": {"name": "x"}}, or {"as_sym_int": {"as_name": "n"}} for symbols.
std::string render_value(const Value& value, const std::string& name);
/// An attribute as an argument's value object; `name` tells scalar types, layouts and devices apart.
std::string render_literal(std::string_view name, const AttrValue& value, const Graph& graph,
                           const Node& node, const ValueNames& names);
/// The node object. `metadata`: its metadata object.
std::string render_node(const Graph& graph, const Node& node, const ValueNames& names,
                        const std::string& metadata, const Pt2Dialect& dialect);
/// {"name": .., "arg": .., "kind": 1 or 2}
std::string render_argument(std::string_view name, const std::string& value, bool keyword,
                            const Pt2Dialect& dialect);

/// torch's description of a call's result (a TreeSpec, JSON as text) with `count` more tensors behind those
/// that it has: a tuple gets longer, anything else becomes the first of a tuple. nullopt: it is no such
/// description.
std::optional<std::string> result_tree_with(const std::string& tree, std::size_t count);

}  // namespace md
