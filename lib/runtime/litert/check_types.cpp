// Element types.
#include <algorithm>

#include <fmt/format.h>

#include "lib/target/check.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

std::vector<std::string> expand(const CheckContext& c, const CheckSpec& spec, std::string_view key) {
  std::vector<std::string> types;
  const AttrValue* value = spec.parameters.find(key);
  const auto* names = value ? std::get_if<std::vector<std::string>>(value) : nullptr;
  if (!names) return types;
  for (const std::string& name : *names) {
    const auto group = c.type_groups.find(name);
    if (group == c.type_groups.end()) {
      types.push_back(name);
    } else {
      types.insert(types.end(), group->second.begin(), group->second.end());
    }
  }
  return types;
}

Result_ allowed(const CheckContext& c, const CheckSpec& spec, ValueId id,
                const std::vector<std::string>& types) {
  const Value& value = c.view.graph().value(id);
  const std::string text = spec.text("text");  // one text for both faults, without the tensor's name
  if (value.rank() >= 5)
    return Fault{
        text.empty() ? fmt::format("Tensor dimensions must be less than 5. {}", c.view.name(id)) : text, id};
  if (value.is_constant() ||
      std::find(types.begin(), types.end(), runtime_type_name(value.dtype)) != types.end())
    return {};
  if (!text.empty()) return Fault{text, id};
  return Fault{
      fmt::format("Tensor type({}) is not supported. {}", runtime_type_name(value.dtype), c.view.name(id)),
      id};
}

/// The last check of every operator: ranks of all tensors, types ("in", "out") of all that are not constant.
Result_ gate(const CheckContext& c, const CheckSpec& spec) {
  const std::vector<std::string> in = expand(c, spec, "in"), out = expand(c, spec, "out");
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (const ValueId id = c.input_id(i); id >= 0)
      if (auto fault = allowed(c, spec, id, in)) return fault;
  for (const ValueId id : c.node.outputs)
    if (id >= 0)
      if (auto fault = allowed(c, spec, id, out)) return fault;
  return {};
}

/// The type of one operand ("operand") or result ("output") is in "types".
Result_ type_is(const CheckContext& c, const CheckSpec& spec) {
  const std::int64_t output = spec.parameters.integer("output", -1);
  const Value* value = output >= 0 ? c.output(static_cast<std::size_t>(output))
                                   : c.input(static_cast<std::size_t>(spec.parameters.integer("operand")));
  if (!value) return {};
  const std::vector<std::string> types = expand(c, spec, "types");
  if (std::find(types.begin(), types.end(), runtime_type_name(value->dtype)) != types.end()) return {};
  return Fault{filled(spec.text("text"), {{"type", std::string(runtime_type_name(value->dtype))}}), none_id};
}

/// Operand and result have one type.
Result_ same_type(const CheckContext& c, const CheckSpec& spec) {
  const std::vector<std::int64_t> operands = spec.operands("operands");
  const Value* first = c.input(static_cast<std::size_t>(operands.empty() ? 0 : operands[0]));
  if (!first) return {};
  const auto differs = [&](const Value* other) { return other && other->dtype != first->dtype; };
  bool fault = spec.parameters.flag("with_output", false) && differs(c.output(0));
  for (const std::int64_t operand : operands)
    fault = fault || differs(c.input(static_cast<std::size_t>(operand)));
  if (!fault) return {};
  return Fault{spec.text("text"), none_id};
}

/// CUMSUM: float in and out, a constant INT32 axis, all in one text.
Result_ cumsum_types(const CheckContext& c, const CheckSpec& spec) {
  const Value *in = c.input(0), *axis = c.input(1), *out = c.output(0);
  if (!in || !axis || !out) return {};
  const bool is_float_type = in->dtype == DType::f32 || in->dtype == DType::f16;
  if (is_float_type && out->dtype == in->dtype && axis->dtype == DType::i32 && axis->is_constant()) return {};
  return Fault{spec.text("text"), none_id};
}

/// CAST in the classic delegate.
Result_ cast_pair(const CheckContext& c, const CheckSpec&) {
  const Value *in = c.input(0), *out = c.output(0);
  if (!in || !out) return {};
  const auto real = [](DType t) { return t == DType::f16 || t == DType::f32; };
  const auto number = [](DType t) { return t == DType::f32 || t == DType::i32; };
  if ((in->dtype == DType::boolean && real(out->dtype)) || (real(in->dtype) && out->dtype == DType::boolean))
    return {};
  if (number(in->dtype) && number(out->dtype)) return {};
  return Fault{fmt::format("Not supported Cast case. Input type: {} and output type: {}",
                           runtime_type_name(in->dtype), runtime_type_name(out->dtype)),
               none_id};
}

}  // namespace

const std::vector<CheckEntry>& type_checks() {
  static const std::vector<CheckEntry> checks = {
      {"gate", gate},           {"type", type_is}, {"same type", same_type}, {"cumsum types", cumsum_types},
      {"cast pair", cast_pair},
  };
  return checks;
}

}  // namespace md
