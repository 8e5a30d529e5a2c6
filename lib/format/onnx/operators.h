// ONNX's operators: one row an operator and version, of the default domain (opset 1 to 28), ai.onnx.ml and
// what exporters and ONNX Runtime's optimizer write of com.microsoft. Names, operands, attributes, defaults
// and types are facts of the schemas (scripts/onnx_operators.py reads them from the packages onnx and
// onnxruntime into operators.txt); what the operators are is in operator_facts.cpp. Read at the first use of
// an .onnx file: some milliseconds.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/op/infer.h"
#include "lib/op/ops.h"

namespace md {

/// Rows are named as nodes are: "Conv", "com.microsoft.Gelu".
const OpTable& onnx_ops();

/// The row that a node of this name has in a file of this operator set (of the operator's own domain); null:
/// the set has no such operator.
const OpSpec* onnx_row(std::string_view op, int set);

/// TensorProto.DataType <-> element type; nullopt: not one of IR version 14, or ONNX has no such type.
std::optional<DType> dtype_of_onnx(std::int64_t data_type);
std::optional<std::int64_t> onnx_data_type(DType dtype);

/// Dialect::infer. Constant operands (shapes, axes, pads) are read where they decide the shape; a dimension
/// that does not follow is dynamic, a result whose rank does not follow is NoType without contradiction.
tl::expected<std::vector<ValueType>, NoType> infer_onnx_types(const Node& node,
                                                              std::span<const Value* const> operands,
                                                              std::size_t outputs);

/// A value whose declared type is not what its operator gives.
struct StaleType {
  int graph = 0;
  ValueId value = none_id;
  DType dtype = DType::unknown;  ///< what was declared
  Shape shape;
};
/// Gives every value without a type (DType::unknown, or unranked) the one that its operator makes, graph by
/// graph, bodies of nodes included; values of small integer tensors (Shape, Gather, Concat, arithmetic on
/// them) are followed, so that a Reshape by a computed shape gets its dimensions. Declared types that
/// contradict what is inferred are replaced and returned; a declared dimension that inference does not know
/// stays. Time is linear in nodes.
std::vector<StaleType> complete_onnx_types(Model& model);

}  // namespace md
