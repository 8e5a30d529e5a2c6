// What ONNX's tools call element types, and small questions about a node that several checks ask.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "lib/op/ops.h"
#include "lib/target/check.h"

namespace md {

/// The letter of an element type in kernels.json (scripts/onnx_operators.py has the list); '\0': none.
char onnx_type_letter(DType type);
/// "tensor(float)"; "" for what is no tensor, or not known.
std::string onnx_type_text(DType type);
/// The version of the set of this domain that the file imports; nullopt: it does not, or a repair added it.
std::optional<int> imported_set(const Model& model, std::string_view domain);
/// "Conv" of "com.microsoft.Conv".
std::string_view name_in_domain(const Node& node);
/// Operands without those that a body captures and the file does not list.
std::size_t listed_operands(const Node& node);
/// What the schema says of the operand at this position; null: nothing.
const OperandSpec* operand_spec(const OpSpec& row, std::size_t at);
const OperandSpec* result_spec(const OpSpec& row, std::size_t at);
/// The graph is the body of a local function: it has imports of its own, and types by its callers.
bool is_function_body(const CheckContext& context);

}  // namespace md
