// What no check of the delegate catches: kernels that fail to build (INVALID_ARGUMENT) and aborts of the
// process. All of it was found by running models; where the runtime dies without a word, the text says so.
#include <algorithm>

#include <fmt/format.h>

#include "lib/format/tflite/queries.h"
#include "lib/runtime/litert/bhwc.h"
#include "lib/runtime/litert/split_merge.h"
#include "lib/target/check.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

constexpr const char* unreadable = "Check failed: CanReadValue(node_input_index) ";

bool reads_constant_type(DType type) {
  switch (type) {
    case DType::f32:
    case DType::f16:
    case DType::i8:
    case DType::u8:
    case DType::i4:
    case DType::i2:
    case DType::boolean:
    case DType::i32:
      return true;
    default:
      return false;
  }
}

Fault bad_constant_type() {
  return {
      "Check failed: tfl_tensor && (tfl_tensor->type == kTfLiteFloat32 || tfl_tensor->type == kTfLiteFloat16 "
      "|| "
      "tfl_tensor->type == kTfLiteInt8 || tfl_tensor->type == kTfLiteUInt8 || tfl_tensor->type == "
      "kTfLiteInt4 || "
      "tfl_tensor->type == kTfLiteInt2 || tfl_tensor->type == kTfLiteBool || tfl_tensor->type == "
      "kTfLiteInt32) ",
      none_id};
}

/// A node without runtime operand that nothing refused.
Result_ constant_only(const CheckContext& c, const CheckSpec&) {
  if (c.runtime_inputs() > 0 || c.constant_inputs() == 0) return {};
  return Fault{unreadable, none_id};
}

/// An elementwise operator reads a constant operand of several elements as floats, and dies of other types.
Result_ constant_operand_type(const CheckContext& c, const CheckSpec&) {
  if (c.input_count() != 2 || c.runtime_inputs() != 1) return {};
  const Value* constant = c.is_constant(0) ? c.input(0) : c.input(1);
  if (!constant || reads_constant_type(constant->dtype) || elements(constant->shape) == 1) return {};
  return bad_constant_type();
}

/// The same for operators that take constants among any number of operands.
Result_ constant_types(const CheckContext& c, const CheckSpec&) {
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (c.is_constant(i) && !reads_constant_type(c.input(i)->dtype)) return bad_constant_type();
  return {};
}

/// Constant weights with a runtime bias.
Result_ runtime_bias(const CheckContext& c, const CheckSpec&) {
  if (!c.is_constant(1) || !c.input(2) || c.is_constant(2)) return {};
  return Fault{unreadable, none_id};
}

/// A tensor that a node reads twice, unless a reshape is put in between (which a batch other than 1 needs).
Result_ tensor_read_twice(const CheckContext& c, const CheckSpec& spec) {
  if (c.input_count() < 2 || !c.input(0) || c.input_id(0) != c.input_id(1) || c.is_constant(0) ||
      bhwc(c.input(0)->shape).b != 1)
    return {};
  return Fault{spec.text("text"), none_id};
}

/// A product with a transposed second operand: with at most 8 rows it needs columns and inner lengths in
/// multiples of 4.
Result_ transposed_product(const CheckContext& c, const CheckSpec& spec) {
  const Value *a = c.input(0), *b = c.input(1);
  if (!c.node.attrs.flag("adj_y") || c.node.attrs.flag("adj_x") || !a || !b || a->rank() < 2 || b->rank() < 2)
    return {};
  if (b->is_constant() && b->rank() == 2) return {};  // becomes a fully connected layer
  const std::int64_t rows = a->shape[a->shape.size() - 2], inner = a->shape.back(),
                     columns = b->shape[b->shape.size() - 2];
  if (rows > 8 || (inner % 4 == 0 && columns % 4 == 0)) return {};
  return Fault{spec.text("text"), none_id};
}

/// Grouped convolutions: groups of 1 to 4 input channels, and of multiples of 4 in and out, have kernels.
/// Others are split into one convolution a group, and those die while they are compiled.
Result_ grouped_convolution(const CheckContext& c, const CheckSpec&) {
  const Value *input = c.input(0), *weights = c.input(1);
  if (!input || !weights || input->rank() != 4 || weights->rank() != 4) return {};
  const std::int64_t in = weights->shape[3], out = weights->shape[0];
  if (in <= 4 || input->shape[3] <= in) return {};
  const std::int64_t groups = input->shape[3] / in;
  if (groups > 1 && in % 4 == 0 && out / groups % 4 == 0) return {};
  return Fault{
      fmt::format("process dies without a message: CONV_2D with {} groups of {} input and {} output channels",
                  groups, in, out / groups),
      none_id};
}

/// A condition with a batch where the output has none: its coordinate has no batch to read.
Result_ condition_batch(const CheckContext& c, const CheckSpec&) {
  const Value *condition = c.input(0), *out = c.output(0);
  if (!condition || !out || bhwc(condition->shape).b == 1 || bhwc(out->shape).b != 1) return {};
  return Fault{
      "INVALID_ARGUMENT: Unable to parse bc coord for BATCH axis. Layout is bhwc, args are cond_x, cond_y, "
      "cond_z.",
      c.input_id(0)};
}

/// Indices of a GATHER: a constant list has a batch, which the kernel cannot address where the output has
/// none.
Result_ constant_indices(const CheckContext& c, const CheckSpec&) {
  if (!c.is_constant(1)) return {};
  return Fault{
      "INVALID_ARGUMENT: Unable to parse bc coord for BATCH axis. Layout is bhwc, args are 0, 0, "
      "slice_coord_TMP.",
      c.input_id(1)};
}

/// DEQUANTIZE of a constant of rank 2 or 3: the constant is laid out as width and channels (height, width and
/// channels), its consumers see the first axis as the batch.
Result_ dequantized_layout(const CheckContext& c, const CheckSpec&) {
  const Value *input = c.input(0), *output = c.output(0);
  if (!input || !output || !input->is_constant() || (input->rank() != 2 && input->rank() != 3)) return {};
  const Bhwc seen = bhwc(output->shape);
  Bhwc stored{1, 1, input->shape[0], input->shape[1]};
  if (input->rank() == 3) stored = {1, input->shape[0], input->shape[1], input->shape[2]};
  if (seen == stored) return {};
  return Fault{fmt::format("INVALID_ARGUMENT: Shape mismatch: {} vs {}", seen.text(), stored.text()),
               c.input_id(0)};
}

/// DEQUANTIZE of a runtime tensor that has no scale.
Result_ runtime_without_scale(const CheckContext& c, const CheckSpec&) {
  const Value* input = c.input(0);
  if (!input || input->is_constant() || (input->quantization && !input->quantization->scale.empty()))
    return {};
  return Fault{"process dies without a message: DEQUANTIZE of a tensor without a scale", c.input_id(0)};
}

/// An operand type for which the kernel dies.
Result_ deadly_type(const CheckContext& c, const CheckSpec& spec) {
  const Value* input = c.input(0);
  if (!input || input->is_constant() || runtime_type_name(input->dtype) != spec.text("type")) return {};
  return Fault{fmt::format("process dies without a message: {} of {}", c.node.op, spec.text("type")),
               c.input_id(0)};
}

/// CUMSUM takes an axis that counts from the end for an index: with some ranks it points outside.
Result_ negative_axis(const CheckContext& c, const CheckSpec& spec) {
  const Value* input = c.input(0);
  const auto axis = c.input_count() > 1 ? integer_values(c.view.graph(), c.input_id(1)) : std::nullopt;
  if (!input || !axis || axis->size() != 1 || axis->front() >= 0) return {};
  if (input->rank() != 4 && (input->rank() != 3 || axis->front() == -1)) return {};
  return Fault{spec.text("text"), c.input_id(1)};
}

/// The outputs of a split in a CONCATENATION along the same axis or along the batch. The runtime prints
/// "Failed to initialize kernel." without a reason; what follows the colon is said here only.
Result_ split_joined_again(const CheckContext& c, const CheckSpec& spec) {
  const Graph& graph = c.view.graph();
  const NodeId id = c.output(0) ? graph.producer(c.node.outputs.front()) : none_id;
  const auto merge = id == none_id ? std::nullopt : split_merge(graph, id);
  if (!merge || merge->kind != SplitMerge::Kind::refused) return {};
  return Fault{spec.text("text"), merge->read};
}

/// PRELU with a slope for every place: the kernel reads them without a batch.
Result_ slopes_and_batch(const CheckContext& c, const CheckSpec& spec) {
  const Value *input = c.input(0), *slopes = c.input(1);
  if (!input || !slopes || input->shape.empty() || bhwc(input->shape).b == 1) return {};
  if (elements(slopes->shape) == input->shape.back()) return {};
  return Fault{spec.text("text"), c.input_id(1)};
}

}  // namespace

const std::vector<CheckEntry>& kernel_checks() {
  static const std::vector<CheckEntry> checks = {
      {"constant only", constant_only},
      {"constant operand type", constant_operand_type},
      {"constant types", constant_types},
      {"runtime bias", runtime_bias},
      {"tensor read twice", tensor_read_twice},
      {"transposed product", transposed_product},
      {"grouped convolution", grouped_convolution},
      {"condition batch", condition_batch},
      {"constant indices", constant_indices},
      {"dequantized layout", dequantized_layout},
      {"runtime without scale", runtime_without_scale},
      {"deadly type", deadly_type},
      {"negative axis", negative_axis},
      {"split joined again", split_joined_again},
      {"slopes and batch", slopes_and_batch},
  };
  return checks;
}

}  // namespace md
