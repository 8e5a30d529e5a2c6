// The types of TFLite's results and the attributes that follow from types.
#include <algorithm>
#include "lib/format/tflite/dialect.h"

#include "lib/format/tflite/infer_rules.h"
#include "lib/format/tflite/operators.h"
#include "lib/graph/encode.h"
#include "lib/op/ops.h"

namespace md {
namespace infer {

tl::expected<std::vector<std::int64_t>, NoType> constant_integers(const Site& site, std::size_t operand,
                                                                  std::string_view name) {
  auto values = decode_integers(site.at(operand));
  if (!values) return unknown("its " + std::string(name) + " is not a constant");
  // Sums of these stay far from overflow, and nothing real is larger; 2^63 - 1 still means "to the end".
  constexpr std::int64_t limit = std::int64_t{1} << 40;
  for (std::int64_t& v : *values) v = std::clamp(v, -limit, limit);
  return *std::move(values);
}

std::optional<std::size_t> axis_in(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

namespace {

bool is_quantized(const Value& value) {
  return value.quantization && !value.quantization->scale.empty() && !is_float(value.dtype);
}

Inferred elementwise(const Site& site, const OpSpec& spec) {
  const Value& a = site.at(0);
  if (spec.unary) {
    // These keep their operand's scale; the others choose one that cannot be known from here.
    const bool keeps = spec.name.starts_with("RELU") || spec.name == "ABS" || spec.name == "NEG";
    if (is_quantized(a) && !keeps)
      return unknown("the quantization of its result does not follow from its operand");
    return Types{{a.dtype, a.shape, keeps ? a.quantization : std::nullopt}};
  }
  const Value& b = site.at(1);
  const auto shape = broadcast_shape(a.shape, b.shape);
  if (!shape) return no(shape_text(a.shape) + " and " + shape_text(b.shape) + " do not broadcast");
  if (a.dtype != b.dtype)
    return no("its operands are " + std::string(name(a.dtype)) + " and " + std::string(name(b.dtype)));
  if (spec.compare) return Types{{DType::boolean, *shape, {}}};
  const bool keeps = (spec.name == "MAXIMUM" || spec.name == "MINIMUM") && a.quantization == b.quantization;
  if (is_quantized(a) && !keeps)
    return unknown("the quantization of its result does not follow from its operands");
  return Types{{a.dtype, *shape, keeps ? a.quantization : std::nullopt}};
}

const Rule* find_rule(std::string_view op) {
  for (const auto rules : {movement_rules(), arithmetic_rules()})
    for (const Rule& rule : rules)
      if (rule.op == op) return &rule;
  return nullptr;
}

}  // namespace
}  // namespace infer

tl::expected<std::vector<ValueType>, NoType> infer_tflite_types(const Node& node,
                                                                std::span<const Value* const> operands,
                                                                std::size_t outputs) {
  const infer::Site site{node, operands, outputs};
  const OpSpec* spec = find_op(dialect_tflite, node.op);
  if (!spec) return infer::unknown("no type is known for this operator");
  infer::Inferred types = infer::unknown("no type is known for this operator");
  const infer::Rule* rule = infer::find_rule(node.op);
  const int needed = rule ? rule->operands : spec->unary ? 1 : 2;
  for (int i = 0; i < needed && (rule || spec->unary || spec->binary || spec->compare); ++i)
    if (!site.has(static_cast<std::size_t>(i)))
      return infer::no("operand " + std::to_string(i + 1) + " is missing");
  if (rule)
    types = rule->infer(site);
  else if (spec->unary || spec->binary || spec->compare)
    types = infer::elementwise(site, *spec);
  if (types && types->size() != outputs)
    return infer::no("it has " + std::to_string(types->size()) + " results, not " + std::to_string(outputs));
  return types;
}

void set_derived_attributes(Node& node, std::span<const Value* const> operands,
                            std::span<const ValueType> outputs) {
  const auto set = [&](std::string_view key, AttrValue value) {
    if (!node.attrs.find(key)) node.attrs.set(key, std::move(value));
  };
  const auto set_type = [&](std::string_view key, DType dtype) {
    if (const auto type = tflite_tensor_type(dtype)) set(key, *type);
  };
  if (outputs.empty()) return;
  if (node.op == "CAST" && !operands.empty() && operands[0]) {
    set_type("in_data_type", operands[0]->dtype);
    set_type("out_data_type", outputs[0].dtype);
  } else if (node.op == "ARG_MAX" || node.op == "ARG_MIN") {
    set_type("output_type", outputs[0].dtype);
  } else if (node.op == "SHAPE") {
    set_type("out_type", outputs[0].dtype);
  } else if (node.op == "SPLIT" || node.op == "SPLIT_V") {
    set("num_splits", static_cast<std::int64_t>(outputs.size()));
  } else if (node.op == "UNPACK") {
    set("num", static_cast<std::int64_t>(outputs.size()));
  } else if (node.op == "PACK") {
    set("values_count", static_cast<std::int64_t>(operands.size()));
  }
}

}  // namespace md
