// Attributes of operators: activations, strides, flags.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "lib/target/check.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

/// Attribute "name" equals "is" (a number, or a flag as 0 and 1), with "not" differs from it; else "text"
/// with {got}.
Result_ attribute_is(const CheckContext& c, const CheckSpec& spec) {
  const AttrValue* value = c.node.attrs.find(spec.text("name"));
  const double got =
      value && std::holds_alternative<double>(*value)
          ? std::get<double>(*value)
          : static_cast<double>(c.node.attrs.integer(spec.text("name"), spec.parameters.integer("default")));
  if ((got == spec.parameters.number("is")) != spec.parameters.flag("not")) return {};
  return Fault{filled(spec.text("text"), {{"got", fmt::format("{}", static_cast<std::int64_t>(got))}}),
               none_id};
}

/// Both attributes of a pair are at least 1: strides, kernel sizes, dilations ("what" names them in the
/// text).
Result_ positive_pair(const CheckContext& c, const CheckSpec& spec) {
  const std::int64_t h = c.node.attrs.integer(spec.text("height"), 1),
                     w = c.node.attrs.integer(spec.text("width"), 1);
  if (h > 0 && w > 0) return {};
  const std::string what = spec.text("what");
  return Fault{fmt::format("Incorrect {0} values: {0}_height = {1}, {0}_width = {2}", what, h, w), none_id};
}

/// The activation that is fused into the operator: NONE, RELU, RELU_N1_TO_1, RELU6 and TANH are known.
Result_ fused_activation(const CheckContext& c, const CheckSpec& spec) {
  // The schema's SIGN_BIT is 5; the runtime's own numbering is the same up to there.
  const std::int64_t got = c.node.attrs.integer("fused_activation_function");
  if (got >= 0 && got <= 4) return {};
  return Fault{
      filled(spec.text("text", "Unsupported fused activation: {got}"), {{"got", fmt::format("{}", got)}}),
      none_id};
}

/// Two flags that exclude each other.
Result_ not_both(const CheckContext& c, const CheckSpec& spec) {
  if (!c.node.attrs.flag(spec.text("first")) || !c.node.attrs.flag(spec.text("second"))) return {};
  return Fault{spec.text("text"), none_id};
}

/// DEPTH_TO_SPACE and SPACE_TO_DEPTH.
Result_ block_size(const CheckContext& c, const CheckSpec&) {
  const std::int64_t size = c.node.attrs.integer("block_size");
  if (size > 1) return {};
  return Fault{c.node.op + (size == 1 ? " block_size = 1 is a no-op." : " block_size must be > 1."), none_id};
}

/// ONE_HOT: the axis is -1, or equal to the last dimension (that is what the runtime compares it with).
Result_ one_hot_axis(const CheckContext& c, const CheckSpec& spec) {
  const Value* indices = c.input(0);
  const std::int64_t axis = c.node.attrs.integer("axis", -1);
  if (!indices || axis == -1) return {};
  if (!indices->shape.empty() && axis == indices->shape.back()) return {};
  return Fault{spec.text("text"), none_id};
}

/// ONE_HOT: only the batch (of rank 4) and the last dimension may be other than 1.
Result_ one_hot_dimensions(const CheckContext& c, const CheckSpec& spec) {
  const Value* indices = c.input(0);
  if (!indices) return {};
  if (indices->rank() >= 4 && indices->shape[3] != 1 && spec.parameters.flag("channels"))
    return Fault{"OneHot indices channel dimension must be 1.", none_id};
  if (spec.parameters.flag("channels")) return {};
  for (std::size_t i = indices->rank() > 3 ? 1 : 0; i + 1 < indices->shape.size(); ++i)
    if (indices->shape[i] != 1)
      return Fault{filled(spec.text("text"), {{"got", fmt::format("{}", i)}}), none_id};
  return {};
}

}  // namespace

const std::vector<CheckEntry>& attribute_checks() {
  static const std::vector<CheckEntry> checks = {
      {"attribute", attribute_is},
      {"positive pair", positive_pair},
      {"fused activation", fused_activation},
      {"not both", not_both},
      {"block size", block_size},
      {"one hot axis", one_hot_axis},
      {"one hot dimensions", one_hot_dimensions},
  };
  return checks;
}

}  // namespace md
