#include "lib/runtime/onnxruntime/onnx_types.h"

#include <algorithm>

#include <fmt/format.h>

namespace md {
namespace {

struct TypeName {
  DType type;
  char letter;
  std::string_view name;
};
constexpr TypeName names[] = {
    {DType::f32, 'f', "float"},
    {DType::f64, 'd', "double"},
    {DType::f16, 'h', "float16"},
    {DType::bf16, 'B', "bfloat16"},
    {DType::i8, 'c', "int8"},
    {DType::i16, 's', "int16"},
    {DType::i32, 'i', "int32"},
    {DType::i64, 'l', "int64"},
    {DType::u8, 'C', "uint8"},
    {DType::u16, 'S', "uint16"},
    {DType::u32, 'I', "uint32"},
    {DType::u64, 'L', "uint64"},
    {DType::boolean, 'b', "bool"},
    {DType::string, 't', "string"},
    {DType::c64, 'z', "complex64"},
    {DType::c128, 'Z', "complex128"},
    {DType::i4, 'n', "int4"},
    {DType::u4, 'N', "uint4"},
    {DType::i2, 'm', "int2"},
    {DType::u2, 'M', "uint2"},
    {DType::f8e4m3fn, '1', "float8e4m3fn"},
    {DType::f8e4m3fnuz, '2', "float8e4m3fnuz"},
    {DType::f8e5m2, '3', "float8e5m2"},
    {DType::f8e5m2fnuz, '4', "float8e5m2fnuz"},
    {DType::f8e8m0, '5', "float8e8m0"},
    {DType::f4e2m1, '6', "float4e2m1"},
    {DType::variant, 'v', ""},
};

const TypeName* find(DType type) {
  for (const TypeName& name : names)
    if (name.type == type) return &name;
  return nullptr;
}

}  // namespace

char onnx_type_letter(DType type) {
  const TypeName* name = find(type);
  return name ? name->letter : '\0';
}

std::string onnx_type_text(DType type) {
  const TypeName* name = find(type);
  return name && !name->name.empty() ? fmt::format("tensor({})", name->name) : std::string();
}

std::optional<int> imported_set(const Model& model, std::string_view domain) {
  // The reader may have put an import there that the file lacks; its text names the domain.
  for (const Repair& repair : model.repairs)
    if (repair.kind == "missing-domain" && !domain.empty() && repair.text.find(domain) != std::string::npos)
      return std::nullopt;
  for (const OperatorSet& set : model.operator_sets)
    if (set.domain == domain) return set.version;
  return std::nullopt;
}

std::string_view name_in_domain(const Node& node) {
  std::string_view name = node.op;
  if (!node.custom.empty() && name.starts_with(node.custom) && name.size() > node.custom.size())
    name.remove_prefix(node.custom.size() + 1);
  return name;
}

std::size_t listed_operands(const Node& node) {
  const std::int64_t captured = node.attrs.integer("#captured");
  const auto all = static_cast<std::int64_t>(node.inputs.size());
  return static_cast<std::size_t>(all - std::clamp<std::int64_t>(captured, 0, all));
}

const OperandSpec* operand_spec(const OpSpec& row, std::size_t at) {
  if (at < row.operand_specs.size()) return &row.operand_specs[at];
  return row.variadic && !row.operand_specs.empty() ? &row.operand_specs.back() : nullptr;
}

const OperandSpec* result_spec(const OpSpec& row, std::size_t at) {
  if (at < row.result_specs.size()) return &row.result_specs[at];
  return row.result_specs.empty() ? nullptr : &row.result_specs.back();
}

bool is_function_body(const CheckContext& context) {
  const Graph& graph = context.view.graph();
  return context.model && !context.model->graphs.empty() && &graph != &context.model->graphs.front() &&
         graph.name.find(':') != std::string::npos;
}

}  // namespace md
