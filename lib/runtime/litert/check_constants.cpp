// Reading small constants: permutations, axes, weights. Each way of reading has its own demands on type and
// shape.
#include <algorithm>

#include <fmt/format.h>

#include "lib/graph/encode.h"
#include "lib/runtime/litert/bhwc.h"
#include "lib/target/check.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

std::string shape_list(const Shape& shape) {
  std::string text;
  for (const std::int64_t dim : shape) text += (text.empty() ? "" : ",") + fmt::format("{}", dim);
  return "[" + text + "]";
}

std::size_t bytes_of(const Value& value) { return storage_bytes(value.dtype, elements(value.shape)); }

Result_ int32_data(const Value& value) {
  const std::size_t bytes = bytes_of(value);
  if (bytes % 4 != 0)
    return Fault{fmt::format("Input data size {} is not aligned to expected type: 4", bytes), none_id};
  if (static_cast<std::size_t>(elements(value.shape)) * 4 != bytes)
    return Fault{"src has wrong size.", none_id};
  return {};
}

Result_ float_data(const Value& value) {
  switch (value.dtype) {
    case DType::f32:
    case DType::f16:
    case DType::i4:
    case DType::i8:
    case DType::u8:
    case DType::i32:
      return {};
    default:
      return Fault{"Unsupported data type for float32 tensor", none_id};
  }
}

Result_ layout(const Value& value, ValueId id, std::string_view as) {
  const Shape& shape = value.shape;
  const auto ones = [](auto begin, auto end) {
    return std::all_of(begin, end, [](std::int64_t d) { return d == 1; });
  };
  if (as == "scalar") {
    if (ones(shape.begin(), shape.end())) return {};
    return Fault{shape_list(shape) + "  cannot be reduced to scalar.", none_id};
  }
  if (as == "linear") {
    if (!shape.empty() && ones(shape.begin(), shape.end() - 1)) return {};
    return Fault{"Isn't linear convertible.", none_id};
  }
  if (as == "hw") {
    if (shape.size() == 2) return {};
    return Fault{"Expected a 2D tensor of shape HxW but got " + shape_list(shape), none_id};
  }
  if (as == "hwc") {
    if (shape.size() == 3) return {};
    if (shape.size() != 4)
      return Fault{
          "Expected a 3D tensor of shape HxWxC or a 4D tensor of shape 1xHxWxC but got " + shape_list(shape),
          none_id};
    if (shape[0] != 1) return Fault{"Batch size is not equal to 1.", none_id};
    return {};
  }
  if (as == "ohwi") {
    if (shape.size() == 4) return {};
    return Fault{"Expected a 4D tensor of shape OxHxWxI but got " + shape_list(shape), none_id};
  }
  if (shape.size() <= 5) return {};
  return Fault{fmt::format("Tensor \"{}\" has bad input dims size: {}.", "nullptr", shape.size()), id};
}

/// Reads operand "operand" as "as" (scalar, linear, hw, hwc, ohwi, bhwc) of "type" (int32, float).
Result_ reads(const CheckContext& c, const CheckSpec& spec) {
  const auto operand = static_cast<std::size_t>(spec.parameters.integer("operand"));
  if (operand >= c.input_count())
    return spec.parameters.flag("optional")
               ? Result_()
               : Fault{fmt::format("Invalid input tensor index: {}", operand), none_id};
  const Value* value = c.input(operand);
  if (!value)
    return spec.parameters.flag("optional") ? Result_() : Fault{"Invalid Tensor index: -1", none_id};
  if (value->sparsity) return Fault{"ML Drift doesn't support sparsity.", none_id};
  if (!value->is_constant()) return Fault{"src has no data.", none_id};
  if (auto fault = spec.text("type", "int32") == "int32" ? int32_data(*value) : float_data(*value))
    return fault;
  return layout(*value, c.input_id(operand), spec.text("as", "linear"));
}

/// A constant INT32 list of axes, with the texts of the compatibility check.
Result_ constant_axes(const CheckContext& c, const CheckSpec& spec) {
  const auto operand = static_cast<std::size_t>(spec.parameters.integer("operand", 1));
  const Value* value = c.input(operand);
  if (!value) return {};
  if (!value->is_constant()) return Fault{c.node.op + " is only supported with constant axes.", none_id};
  if (value->dtype == DType::i32) return {};
  return Fault{fmt::format("{} supports int32 tensor for axes. But node has {}", c.node.op,
                           runtime_type_name(value->dtype)),
               none_id};
}

/// Operands that may be runtime, or a constant of FLOAT32, BOOL or INT32. (What fails as a runtime tensor is
/// tried as a constant, and that failure is the one that is told.)
Result_ runtime_or_constant(const CheckContext& c, const CheckSpec& spec) {
  const std::int64_t max_rank = spec.parameters.integer("max_rank", 5);
  for (std::size_t operand = 0; operand < c.input_count(); ++operand) {
    const Value* value = c.input(operand);
    if (!value) continue;
    const bool channel_scales = (value->dtype == DType::i8 || value->dtype == DType::u8) &&
                                value->quantization && value->quantization->scale.size() > 1;
    if (value->rank() <= max_rank && !channel_scales) continue;
    if (value->dtype != DType::f32 && value->dtype != DType::boolean && value->dtype != DType::i32)
      return Fault{
          fmt::format("Unsupported tensor type in NewConstNode: {}", runtime_type_name(value->dtype)),
          none_id};
    if (value->sparsity) return Fault{"ML Drift doesn't support sparsity.", none_id};
    if (!value->is_constant()) return Fault{"src has no data.", none_id};
    return Fault{fmt::format("Tensor \"nullptr\" has bad input dims size: {}.", value->rank()), none_id};
  }
  return {};
}

/// Quantized weights are read as INT8, INT4 or INT2 of rank 2, or rank 4 with height and width 1.
Result_ quantized_weights(const CheckContext& c, const CheckSpec& spec) {
  const auto operand = static_cast<std::size_t>(spec.parameters.integer("operand", 1));
  const Value* value = c.input(operand);
  if (!value || !value->quantization || value->quantization->scale.empty()) return {};
  const ValueId id = c.input_id(operand);
  if (value->dtype != DType::i8 && value->dtype != DType::i4 && value->dtype != DType::i2)
    return Fault{fmt::format("Expected Int8, Int4, or Int2 quantized tensor: {}", id), id};
  if (value->rank() != 2 && value->rank() != 4)
    return Fault{
        fmt::format("PreCheckReadQuantizedValueByTensorIdx: Expected 2D or 4D quantized tensor: {}", id), id};
  if (value->rank() == 4 && (value->shape[1] != 1 || value->shape[2] != 1))
    return Fault{fmt::format("PreCheckReadQuantizedValueByTensorIdx: Expected 4D quantized tensor with "
                             "height of 1 and width of 1: {}",
                             id),
                 id};
  return {};
}

}  // namespace

const std::vector<CheckEntry>& constant_checks() {
  static const std::vector<CheckEntry> checks = {
      {"reads", reads},
      {"constant axes", constant_axes},
      {"runtime or constant", runtime_or_constant},
      {"quantized weights", quantized_weights},
  };
  return checks;
}

}  // namespace md
