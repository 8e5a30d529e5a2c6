// Reading aten nodes: operands by argument name, and what kind of operator a node is.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// The operand of an argument; none_id when it is absent or given as a number. Nodes without operand names
/// (graphs from text) go by the schema's order.
ValueId aten_operand(const Node& node, std::string_view argument);
/// The position of that operand in Node::inputs; -1 when there is none.
int aten_operand_position(const Node& node, std::string_view argument);
/// All operands of a list argument ("tensors", "indices"), absent entries as none_id.
std::vector<ValueId> aten_operands(const Node& node, std::string_view argument);
/// A dimension argument made non-negative; nullopt when it does not fit the rank.
std::optional<int> aten_dim(const Node& node, std::string_view argument, int rank, std::int64_t otherwise);
/// A list of dimensions made non-negative and sorted; one integer counts as a list; absent or empty: every
/// dimension.
std::optional<std::vector<int>> aten_dims(const Node& node, std::string_view argument, int rank);

/// c32, c64 or c128.
bool is_complex(DType t);

/// "aten.add" of "aten.add_.Tensor": without overload and without the mark of in-place operators.
std::string aten_base(std::string_view op);
/// True for operators that write their first operand (name ends with "_").
bool aten_in_place(std::string_view op);
/// "aten.add.Tensor" of "aten.add_.Tensor".
std::string aten_functional(std::string_view op);
/// Checks that torch adds to a graph: _assert_scalar, _assert_tensor_metadata, sym_constrain_range ...
bool aten_is_check(std::string_view op);
/// Elementwise in its tensor operands: add, mul, relu, where, ...
bool aten_elementwise(std::string_view op);
/// Gives a view of its first operand: slice, select, view, transpose, ...
bool aten_view(std::string_view op);
/// Makes a tensor from numbers alone: zeros, ones, full, arange, hann_window, empty ...
bool aten_factory(std::string_view op);

}  // namespace md
