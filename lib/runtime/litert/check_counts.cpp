// Checks of counts: operator version, numbers of operands, which of them are constant.
#include <fmt/format.h>

#include "lib/target/check.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

std::string number(std::int64_t value) { return fmt::format("{}", value); }

/// Always; with `unless_constant` not when every operand is constant (the runtime folds the node first).
Result_ refuse(const CheckContext& c, const CheckSpec& spec) {
  if (spec.parameters.flag("unless_constant") && c.runtime_inputs() == 0) return {};
  return Fault{filled(spec.text("text"), {{"op", c.node.op}, {"custom", c.node.custom}}), none_id};
}

Result_ version(const CheckContext& c, const CheckSpec& spec) {
  const std::int64_t max = spec.parameters.integer("max");
  if (c.node.version <= max) return {};
  return Fault{fmt::format("Max version supported: {}. Requested version {}.", max, c.node.version), none_id};
}

Result_ inputs(const CheckContext& c, const CheckSpec& spec) {
  const auto got = static_cast<std::int64_t>(c.input_count());
  const std::int64_t low = spec.parameters.integer("low", spec.parameters.integer("count", 0));
  const std::int64_t high = spec.parameters.integer("high", spec.parameters.integer("count", got));
  if (got >= low && got <= high) return {};
  return Fault{
      filled(spec.text("text"), {{"got", number(got)}, {"outputs", number(std::ssize(c.node.outputs))}}),
      none_id};
}

Result_ outputs(const CheckContext& c, const CheckSpec& spec) {
  const std::int64_t count = spec.parameters.integer("count", 1), got = std::ssize(c.node.outputs);
  if (got == count) return {};
  return Fault{
      filled(spec.text("text", "Expected {count} output tensor(s), but node has {got} output(s)."),
             {{"count", number(count)}, {"got", number(got)}, {"inputs", number(std::ssize(c.node.inputs))}}),
      none_id};
}

Result_ runtime_inputs(const CheckContext& c, const CheckSpec& spec) {
  const std::int64_t got = c.runtime_inputs();
  const std::int64_t low = spec.parameters.integer("low", spec.parameters.integer("count", 0));
  const std::int64_t high = spec.parameters.integer("high", spec.parameters.integer("count", got));
  if (got >= low && got <= high) return {};
  return Fault{
      filled(
          spec.text("text", "Expected {count} runtime input tensor(s), but node has {got} runtime input(s)."),
          {{"count", number(low)}, {"got", number(got)}}),
      none_id};
}

/// `absent`: an optional operand that is left out counts as a constant. `unless_runtime`: that many runtime
/// operands are taken too.
Result_ constant_inputs(const CheckContext& c, const CheckSpec& spec) {
  if (c.runtime_inputs() == spec.parameters.integer("unless_runtime", -1)) return {};
  const std::int64_t count = spec.parameters.integer("count");
  const std::int64_t got =
      spec.parameters.flag("absent") ? std::ssize(c.node.inputs) - c.runtime_inputs() : c.constant_inputs();
  if (got == count) return {};
  return Fault{fmt::format("Expected {} const input tensor(s), but node has {} const input(s).", count, got),
               none_id};
}

/// Two runtime operands, or one and a constant.
Result_ one_or_two_operands(const CheckContext& c, const CheckSpec& spec) {
  const int runtime = c.runtime_inputs(), constant = c.constant_inputs();
  const bool fits = (runtime == 2 && constant == 0) || (runtime == 1 && constant == 1);
  if (fits && c.node.outputs.size() == 1) return {};
  return Fault{spec.text("text", "Op can only handle 1 or 2 operand(s)."), none_id};
}

Result_ operand_runtime(const CheckContext& c, const CheckSpec& spec) {
  const auto operand = static_cast<std::size_t>(spec.parameters.integer("operand"));
  if (!c.is_constant(operand)) return {};
  return Fault{spec.text("text"), none_id};
}

Result_ operand_constant(const CheckContext& c, const CheckSpec& spec) {
  const auto operand = static_cast<std::size_t>(spec.parameters.integer("operand"));
  if (c.is_constant(operand)) return {};
  return Fault{spec.text("text"), none_id};
}

/// The same runtime tensor as both operands.
Result_ distinct_operands(const CheckContext& c, const CheckSpec& spec) {
  if (c.input_count() != 2 || !c.input(0) || c.input_id(0) != c.input_id(1) || c.is_constant(0)) return {};
  return Fault{spec.text("text", "No support of few identical inputs in the same operation."), none_id};
}

}  // namespace

const std::vector<CheckEntry>& count_checks() {
  static const std::vector<CheckEntry> checks = {
      {"refuse", refuse},
      {"version", version},
      {"inputs", inputs},
      {"outputs", outputs},
      {"runtime inputs", runtime_inputs},
      {"constant inputs", constant_inputs},
      {"one or two operands", one_or_two_operands},
      {"operand is runtime", operand_runtime},
      {"operand is constant", operand_constant},
      {"distinct operands", distinct_operands},
  };
  return checks;
}

}  // namespace md
