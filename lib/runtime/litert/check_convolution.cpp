// Convolutions, matrix products, quantization operators, embeddings.
#include <fmt/format.h>

#include "lib/target/check.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

/// Shapes of a depthwise convolution.
Result_ depthwise_shapes(const CheckContext& c, const CheckSpec&) {
  const Value *input = c.input(0), *filter = c.input(1), *bias = c.input(2), *output = c.output(0);
  if (!input || !filter || !output) return {};
  if (input->rank() != 4) return Fault{"input.dims.size != 4", none_id};
  if (filter->rank() != 4) return Fault{"filter.dims.size != 4", none_id};
  if (output->rank() != 4) return Fault{"output.dims.size != 4", none_id};
  if (input->shape[0] != output->shape[0]) return Fault{"input.b != output.b", none_id};
  if (filter->shape[3] != output->shape[3]) return Fault{"filter.i != output.c", none_id};
  if (output->shape[3] != input->shape[3] * c.node.attrs.integer("depth_multiplier", 1))
    return Fault{"output.c != input.c * depth_multiplier", none_id};
  if (bias && elements(bias->shape) != output->shape[3]) return Fault{"bias.size != output.c", none_id};
  return {};
}

/// A convolution's runtime operands and results.
Result_ convolution_operands(const CheckContext& c, const CheckSpec& spec) {
  const int runtime = c.runtime_inputs();
  if (runtime > 2 || runtime < spec.parameters.integer("low", 1))
    return Fault{fmt::format("Expected 1 or 2 input tensor(s), but node has {} runtime inputs.", runtime),
                 none_id};
  if (c.node.outputs.size() != 1)
    return Fault{
        fmt::format("Expected 1 output tensor(s), but node has {} runtime outputs.", c.node.outputs.size()),
        none_id};
  if (runtime == 1 && c.input_count() < 2)
    return Fault{fmt::format("Requested index goes beyond array size: 1 vs {}", c.input_count()), none_id};
  return {};
}

/// A batched matrix product: a constant is taken as the second operand only, of rank 2 to 4.
Result_ matmul_operands(const CheckContext& c, const CheckSpec&) {
  const int runtime = c.runtime_inputs();
  if (runtime == 2) return {};
  if (runtime == 0) return Fault{"Not supported batched mat mul case: too many inputs", none_id};
  if (!c.is_constant(1)) return Fault{"Not supported batched mat mul case: non-constant tensor", none_id};
  const int rank = c.input(1)->rank();
  if (rank < 2 || rank > 4)
    return Fault{"Not supported batched mat mul case: second input has unsupported rank", none_id};
  return {};
}

/// DEQUANTIZE: of a constant the rank counts, of a runtime tensor its scales (`densify`: it must have some).
Result_ dequantize(const CheckContext& c, const CheckSpec& spec) {
  const Value* input = c.input(0);
  if (!input) return {};
  const bool quantized = input->quantization && !input->quantization->scale.empty();
  if (input->is_constant()) {
    if (input->rank() >= 2 && input->rank() <= 4) return {};
    return Fault{
        fmt::format("Unsupported dims for tensor: {} Got dims:{}", c.view.name(c.input_id(0)), input->rank()),
        c.input_id(0)};
  }
  if (!quantized)
    return spec.parameters.flag("densify")
               ? Result_(Fault{"Dequantize for Densify is not supported", none_id})
               : Result_();
  if (input->quantization->scale.size() > 1) return Fault{"Unsupported quantization scale size", none_id};
  return {};
}

/// EMBEDDING_LOOKUP: a table of FLOAT32 or of quantized INT8, INT4, INT2.
Result_ embedding(const CheckContext& c, const CheckSpec&) {
  const Value *ids = c.input(0), *table = c.input(1), *out = c.output(0);
  if (!ids || !table || !out) return {};
  const bool quantized = table->quantization && !table->quantization->scale.empty();
  const bool integer = table->dtype == DType::i8 || table->dtype == DType::i4 || table->dtype == DType::i2;
  if (!quantized && table->dtype != DType::f32)
    return Fault{"EMBEDDING_LOOKUP: Empty quantization params.", none_id};
  if (!integer && table->dtype != DType::f32)
    return Fault{"EMBEDDING_LOOKUP: Unsupported weights type.", none_id};
  return {};
}

Result_ embedding_shapes(const CheckContext& c, const CheckSpec&) {
  const Value *ids = c.input(0), *table = c.input(1), *out = c.output(0);
  if (!ids || !table || !out) return {};
  if (ids->rank() != 1) return Fault{fmt::format("Expected 1D, but got {}D input #0.", ids->rank()), none_id};
  if (table->rank() < 2)
    return Fault{fmt::format("Expected > 1D, but got {}D input #1.", table->rank()), none_id};
  if (table->rank() != out->rank())
    return Fault{fmt::format("Expected {}, but got {} for output.", table->rank(), out->rank()), none_id};
  for (std::size_t i = 1; i < out->shape.size(); ++i)
    if (table->shape[i] != out->shape[i])
      return Fault{
          fmt::format("Expected {}, but got {} for output.dim[{}].", table->shape[i], out->shape[i], i),
          none_id};
  return {};
}

/// The weights of FULLY_CONNECTED are in the plain layout.
Result_ fully_connected_weights(const CheckContext& c, const CheckSpec& spec) {
  if (c.node.attrs.integer("weights_format") == 0) return {};
  return Fault{
      filled(spec.text("text"), {{"got", fmt::format("{}", c.node.attrs.integer("weights_format"))}}),
      none_id};
}

}  // namespace

const std::vector<CheckEntry>& convolution_checks() {
  static const std::vector<CheckEntry> checks = {
      {"depthwise shapes", depthwise_shapes},
      {"convolution operands", convolution_operands},
      {"matmul operands", matmul_operands},
      {"dequantize", dequantize},
      {"embedding", embedding},
      {"embedding shapes", embedding_shapes},
      {"weights format", fully_connected_weights},
  };
  return checks;
}

}  // namespace md
