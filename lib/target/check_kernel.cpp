// What no check of the delegate catches: kernels that fail to build (INVALID_ARGUMENT) and aborts of the process.
#include <fmt/format.h>

#include "lib/target/check.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

/// A node without runtime operand that nothing refused.
Result_ constant_only(const CheckContext& c, const CheckSpec& spec) {
  if (c.runtime_inputs() > 0 || c.constant_inputs() == 0) return {};
  return Fault{spec.text("text"), none_id};
}

/// An elementwise operator reads a constant operand of several elements as floats, and dies of other types.
Result_ constant_operand_type(const CheckContext& c, const CheckSpec&) {
  if (c.input_count() != 2 || c.runtime_inputs() != 1) return {};
  const Value& constant = c.is_constant(0) ? *c.input(0) : *c.input(1);
  switch (constant.dtype) {
    case DType::f32: case DType::f16: case DType::i8: case DType::u8: case DType::i4: case DType::i2: case DType::boolean: case DType::i32:
      return {};
    default: break;
  }
  if (elements(constant.shape) == 1) return {};
  return Fault{"Check failed: tfl_tensor && (tfl_tensor->type == kTfLiteFloat32 || tfl_tensor->type == kTfLiteFloat16 || "
               "tfl_tensor->type == kTfLiteInt8 || tfl_tensor->type == kTfLiteUInt8 || tfl_tensor->type == kTfLiteInt4 || "
               "tfl_tensor->type == kTfLiteInt2 || tfl_tensor->type == kTfLiteBool || tfl_tensor->type == kTfLiteInt32) ",
               none_id};
}

}  // namespace

const std::vector<CheckEntry>& kernel_checks() {
  static const std::vector<CheckEntry> checks = {
      {"constant only", constant_only},
      {"constant operand type", constant_operand_type},
  };
  return checks;
}

}  // namespace md
