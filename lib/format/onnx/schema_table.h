// What the schemas say of ONNX's operators, one line a row (operators.cpp says how to read them).
#pragma once
#include <span>
#include <string_view>

namespace md {

/// Parts of one table, ordered by the operators' names and versions.
std::span<const std::string_view> onnx_schema_table();

}  // namespace md
