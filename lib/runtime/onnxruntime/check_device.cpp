// Whether a device's execution provider takes a node: a conjunction of conditions that were learned from
// measured runs (scripts/device_tables.py). What is not known of the node is never held against it.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/op/dialect.h"
#include "lib/runtime/onnxruntime/onnx_types.h"

namespace md {
namespace {

/// What a condition says of a node: whether it holds, and in words.
struct Holding {
  bool holds = false;
  std::string words;
};
using Answer = std::optional<Holding>;  ///< nullopt: nobody knows

struct Condition {
  bool negated = false;
  std::string_view kind, subject, sign, value;
};

std::string_view word(std::string_view& text) {
  const std::size_t at = text.find(' ');
  const std::string_view one = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return one;
}

Condition condition_of(std::string_view text) {
  Condition condition;
  condition.kind = word(text);
  if (condition.kind == "not") condition.negated = true, condition.kind = word(text);
  if (condition.kind != "version" && condition.kind != "quantized") condition.subject = word(text);
  condition.sign = word(text);
  condition.value = text;
  return condition;
}

std::int64_t integer_of(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Position of an operand by name; nullopt: the operator has none of this name.
std::optional<std::size_t> position(const OpSpec& row, std::string_view name) {
  const auto found = std::find(row.operands.begin(), row.operands.end(), name);
  if (found == row.operands.end()) return std::nullopt;
  return static_cast<std::size_t>(found - row.operands.begin());
}

std::optional<DType> bound_type(const CheckContext& c, const OpSpec& row, std::string_view variable) {
  const auto known = [](DType type) { return type == DType::unknown ? std::nullopt : std::optional(type); };
  for (std::size_t i = 0; i < listed_operands(c.node); ++i)
    if (const OperandSpec* spec = operand_spec(row, i); spec && spec->type_variable == variable)
      if (const Value* value = c.input(i)) return known(value->dtype);
  for (std::size_t i = 0; i < c.node.outputs.size(); ++i)
    if (const OperandSpec* spec = result_spec(row, i); spec && spec->type_variable == variable)
      if (const Value* value = c.output(i)) return known(value->dtype);
  return std::nullopt;
}

std::string shown(const AttrValue* value) {
  if (!value) return {};
  if (const auto* integer = std::get_if<std::int64_t>(value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(value)) return fmt::format("{:g}", *real);
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(value))
    return fmt::format("{}", fmt::join(*list, ","));
  return {};
}

/// A list attribute of this number everywhere; absent: it is the number by definition.
bool all_are(const CheckContext& c, std::string_view name, std::int64_t number) {
  const auto* list = c.node.attrs.integers(name);
  return !list || std::all_of(list->begin(), list->end(), [&](std::int64_t one) { return one == number; });
}

bool is_quantized(const CheckContext& c) {
  for (const ValueId id : c.node.inputs) {
    if (id < 0) continue;
    const NodeId maker = c.view.graph().producer(id);
    if (maker != none_id && c.view.graph().node(maker).op == "DequantizeLinear") return true;
  }
  return false;
}

Answer compared(const Condition& condition, std::int64_t got, const std::string& words) {
  const std::int64_t limit = integer_of(condition.value);
  return Holding{condition.sign == ">" ? got > limit : got <= limit, words};
}

Answer type_answer(const CheckContext& c, const OpSpec& row, const Condition& condition) {
  const auto type = bound_type(c, row, condition.subject);
  if (!type) return std::nullopt;
  const bool same = name(*type) == condition.value;
  return Holding{condition.sign == "=" ? same : !same,
                 fmt::format("{} is {}", condition.subject, name(*type))};
}

Answer operand_answer(const CheckContext& c, const OpSpec& row, const Condition& condition) {
  const auto at = position(row, condition.subject);
  if (!at) return std::nullopt;
  const Value* value = c.input(*at);
  if (condition.kind == "rank") {
    if (!value || value->unranked) return std::nullopt;
    return compared(condition, value->rank(),
                    fmt::format("{} has rank {}", condition.subject, value->rank()));
  }
  const bool holds = condition.kind == "constant" ? value && value->is_constant() : !value;
  const std::string_view words =
      condition.kind == "constant" ? (holds ? "a constant" : "no constant") : (holds ? "left out" : "given");
  return Holding{holds, fmt::format("{} is {}", condition.subject, words)};
}

Answer attribute_answer(const CheckContext& c, const Condition& condition) {
  const std::string_view name = condition.subject;
  const std::string value = shown(attribute_or_usual(*c.view.graph().dialect, c.node, name));
  const std::string words = fmt::format("{} is {}", name, value.empty() ? "not said" : value);
  if (condition.kind == "attribute")
    return Holding{condition.sign == "=" ? value == condition.value : value != condition.value, words};
  if (condition.kind == "is_one") return Holding{value == "1", words};
  if (condition.kind == "is_zero") return Holding{value == "0", words};
  if (condition.kind == "without")
    return Holding{!c.node.attrs.find(name),
                   fmt::format("{} is {}said", name, c.node.attrs.find(name) ? "" : "not ")};
  const std::int64_t number = condition.kind == "ones" ? 1 : 0;
  const bool all = all_are(c, name, number);
  return Holding{all, fmt::format("{} are {}all {}", name, all ? "" : "not ", number)};
}

Answer answer(const CheckContext& c, const OpSpec& row, const Condition& condition) {
  if (condition.kind == "type") return type_answer(c, row, condition);
  if (condition.kind == "rank" || condition.kind == "constant" || condition.kind == "absent")
    return operand_answer(c, row, condition);
  if (condition.kind == "version")
    return compared(condition, c.node.version, fmt::format("version {}", c.node.version));
  if (condition.kind == "quantized") {
    const bool quantized = is_quantized(c);
    return Holding{quantized, quantized ? "quantized" : "not quantized"};
  }
  return attribute_answer(c, condition);
}

/// All conditions of "when" hold.
std::optional<Fault> off_device(const CheckContext& c, const CheckSpec& spec) {
  const OpSpec* row = row_of(c.view.graph(), c.node);
  const AttrValue* when = spec.parameters.find("when");
  const auto* conditions = when ? std::get_if<std::vector<std::string>>(when) : nullptr;
  if (!row || is_function_body(c)) return {};
  std::vector<std::string> words;
  if (conditions)
    for (const std::string& text : *conditions) {
      const Condition condition = condition_of(text);
      const Answer one = answer(c, *row, condition);
      if (!one || one->holds == condition.negated) return {};
      if (std::find(words.begin(), words.end(), one->words) == words.end()) words.push_back(one->words);
    }
  return Fault{words.empty() ? "no form of it was taken" : fmt::format("{}", fmt::join(words, ", ")),
               none_id};
}

}  // namespace

const std::vector<CheckEntry>& onnx_device_checks() {
  static const std::vector<CheckEntry> checks = {{"off device", off_device}};
  return checks;
}

}  // namespace md
