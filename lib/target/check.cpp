#include "lib/target/check.h"

#include <array>
#include <cassert>

#include <fmt/format.h>

#include "lib/op/ops.h"

namespace md {

std::vector<std::int64_t> CheckSpec::operands(std::string_view key) const {
  if (const auto* list = parameters.integers(key)) return *list;
  const AttrValue* one = parameters.find(key);
  return one && std::holds_alternative<std::int64_t>(*one) ? std::vector{std::get<std::int64_t>(*one)}
                                                           : std::vector<std::int64_t>{};
}

DelegateView::DelegateView(const Model& model, int graph, bool rename)
    : graph_(model.graphs[static_cast<std::size_t>(graph)]) {
  for (const ModelSignature& signature : model.signatures) {
    if (!rename || signature.graph != graph) continue;
    for (const auto* names : {&signature.inputs, &signature.outputs})
      for (const auto& [name, value] : *names) signature_names_.emplace(value, &name);
  }
  for (const NodeId id : graph_.order) {
    const Node& node = graph_.node(id);
    if (is_half_constant_dequantize(node)) behind_dequantize_.emplace(node.outputs[0], node.inputs[0]);
  }
}

const std::string& DelegateView::name(ValueId id) const {
  const auto found = signature_names_.find(id);
  return found == signature_names_.end() ? graph_.value(id).name : *found->second;
}

bool DelegateView::is_half_constant_dequantize(const Node& node) const {
  const OpSpec* row = row_of(graph_, node);
  if (!row || !row->restores || node.inputs.size() != 1 || node.outputs.size() != 1 || node.inputs[0] < 0 ||
      node.outputs[0] < 0)
    return false;
  const Value& value = graph_.value(node.inputs[0]);
  return value.dtype == DType::f16 && value.is_constant() &&
         graph_.value(node.outputs[0]).dtype != DType::f16;
}

ValueId DelegateView::operand(const Node& node, std::size_t index) const {
  if (index >= node.inputs.size() || node.inputs[index] < 0) return none_id;
  const auto found = behind_dequantize_.find(node.inputs[index]);
  return found == behind_dequantize_.end() ? node.inputs[index] : found->second;
}

const Value* CheckContext::input(std::size_t index) const {
  const ValueId id = input_id(index);
  return id < 0 ? nullptr : &view.graph().value(id);
}

const Value* CheckContext::output(std::size_t index) const {
  if (index >= node.outputs.size() || node.outputs[index] < 0) return nullptr;
  return &view.graph().value(node.outputs[index]);
}

bool CheckContext::is_constant(std::size_t index) const {
  const Value* value = input(index);
  return value && value->is_constant();
}

int CheckContext::runtime_inputs() const {
  int count = 0;
  for (std::size_t i = 0; i < input_count(); ++i)
    if (const Value* value = input(i)) count += !value->is_constant();
  return count;
}

int CheckContext::constant_inputs() const {
  int count = 0;
  for (std::size_t i = 0; i < input_count(); ++i) count += is_constant(i);
  return count;
}

CheckFunction find_check(std::string_view name) {
  static const std::map<std::string_view, CheckFunction> table = [] {
    std::map<std::string_view, CheckFunction> all;
    for (const auto* group :
         {&count_checks(), &shape_checks(), &constant_checks(), &type_checks(), &attribute_checks(),
          &elementwise_checks(), &slicing_checks(), &convolution_checks(), &composite_checks(),
          &kernel_checks(), &onnx_load_checks(), &onnx_kernel_checks()})
      for (const CheckEntry& entry : *group) {
        [[maybe_unused]] const bool fresh = all.emplace(entry.name, entry.function).second;
        assert(fresh);
      }
    return all;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

ModelCheckFunction find_model_check(std::string_view name) {
  for (const ModelCheckEntry& entry : onnx_model_checks())
    if (entry.name == name) return entry.function;
  return nullptr;
}

std::string_view runtime_type_name(DType type) {
  switch (type) {
    case DType::f16:
      return "FLOAT16";
    case DType::bf16:
      return "BFLOAT16";
    case DType::f32:
      return "FLOAT32";
    case DType::f64:
      return "FLOAT64";
    case DType::i2:
      return "INT2";
    case DType::i4:
      return "INT4";
    case DType::i8:
      return "INT8";
    case DType::i16:
      return "INT16";
    case DType::i32:
      return "INT32";
    case DType::i64:
      return "INT64";
    case DType::u4:
      return "UINT4";
    case DType::u8:
      return "UINT8";
    case DType::u16:
      return "UINT16";
    case DType::u32:
      return "UINT32";
    case DType::u64:
      return "UINT64";
    case DType::boolean:
      return "BOOL";
    case DType::c64:
      return "COMPLEX64";
    case DType::c128:
      return "COMPLEX128";
    case DType::f8e4m3fn:
      return "FLOAT8E4M3FN";
    case DType::f8e5m2:
      return "FLOAT8E5M2";
    case DType::string:
      return "STRING";
    case DType::resource:
      return "RESOURCE";
    case DType::variant:
      return "VARIANT";
    default:
      return "NOTYPE";
  }
}

std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t close = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    const std::string* value = nullptr;
    if (close != std::string_view::npos)
      for (const auto& [key, replacement] : values)
        if (key == text.substr(at + 1, close - at - 1)) value = &replacement;
    if (value) {
      out += *value, at = close + 1;
    } else {
      out += text[at++];
    }
  }
  return out;
}

std::int64_t elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape)
    if (dim >= 0 && __builtin_mul_overflow(count, dim, &count)) return std::int64_t{1} << 62;
  return count;
}

}  // namespace md
