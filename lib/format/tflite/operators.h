// The table of TFLite's operators and of its element types.
#pragma once
#include <optional>

#include "lib/op/ops.h"

namespace md {

const OpTable& tflite_ops();
/// Fills what follows from the operators' meaning (OpSpec::terms, multiply_adds, range, indices, restores)
/// into their rows, which are ordered by name.
void add_operator_facts(OpTable& table);

/// "f32" as TFLite's TensorType enumeration value {0, "FLOAT32"}; nullopt when TFLite has no such type.
std::optional<EnumValue> tflite_tensor_type(DType dtype);
std::optional<DType> dtype_of_tflite(std::int64_t tensor_type);

}  // namespace md
