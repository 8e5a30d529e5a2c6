// What ONNX's tools look at on each node while they load a file: the domain's import, the operator's schema
// in its version, numbers of operands, attributes, element types. Texts are ONNX Runtime's and onnx.checker's
// own.
#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "lib/op/dialect.h"
#include "lib/runtime/onnxruntime/onnx_types.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

/// ("x": tensor(float),"i": tensor(int64),)
std::string arguments(const Graph& graph, std::span<const ValueId> values) {
  std::string text = "(";
  for (const ValueId id : values) {
    const std::string type = id < 0 ? "" : onnx_type_text(graph.value(id).dtype);
    text += fmt::format("\"{}\"{}{},", id < 0 ? "" : graph.value(id).name, type.empty() ? "" : ": ", type);
  }
  return text + ")";
}

/// The table's text of this key around what is wrong; it may use {node}, {op}, {domain}, {arguments},
/// {error}.
Fault said(const CheckContext& c, const CheckSpec& spec, std::string_view key, const std::string& error,
           ValueId value) {
  const Graph& graph = c.view.graph();
  const std::string both =
      fmt::format("{} -> {}", arguments(graph, std::span(c.node.inputs).first(listed_operands(c.node))),
                  arguments(graph, c.node.outputs));
  return {filled(spec.text(key), {{"node", c.node.name},
                                  {"op", std::string(name_in_domain(c.node))},
                                  {"domain", c.node.custom},
                                  {"arguments", both},
                                  {"error", error}}),
          value};
}

Fault said(const CheckContext& c, const CheckSpec& spec, const std::string& error, ValueId value = none_id) {
  return said(c, spec, "text", error, value);
}

bool calls_function(const CheckContext& c) {
  return !c.node.subgraphs.empty() && !row_of(c.view.graph(), c.node);
}

bool listed(const CheckSpec& spec, std::string_view key, std::string_view word) {
  const AttrValue* value = spec.parameters.find(key);
  const auto* words = value ? std::get_if<std::vector<std::string>>(value) : nullptr;
  return words && std::find(words->begin(), words->end(), word) != words->end();
}

/// The node's domain is imported; "exempt": domains that need no import.
Result_ domain_imported(const CheckContext& c, const CheckSpec& spec) {
  if (!c.model || c.node.custom.empty() || listed(spec, "exempt", c.node.custom) || is_function_body(c))
    return {};
  if (imported_set(*c.model, c.node.custom)) return {};
  return said(c, spec, fmt::format("No opset import for domain '{}'", c.node.custom));
}

bool left_by(const Dialect& dialect, std::string_view op, int set) {
  if (!dialect.operators) return false;
  for (const OpSpec& row : dialect.operators().ops)
    if (row.leaves && row.name == op && row.since <= set) return true;
  return false;
}

/// The operator's domain is one of the tool's ("domains"): the set that the file imports has it.
Result_ operator_in_set(const CheckContext& c, const CheckSpec& spec) {
  if (!c.model || is_function_body(c) || calls_function(c)) return {};
  if (!c.node.custom.empty() && !listed(spec, "domains", c.node.custom)) return {};
  const std::optional<int> set = imported_set(*c.model, c.node.custom);
  const Dialect& dialect = *c.model->dialect;
  if (!set || row_of(dialect, c.node.op, *set)) return {};
  const std::string_view name = name_in_domain(c.node);
  if (left_by(dialect, c.node.op, *set))
    return said(c, spec,
                fmt::format("Op registered for {} is deprecated in domain_version of {}", name, *set));
  return said(c, spec, fmt::format("No Op registered for {} with domain_version of {}", name, *set));
}

/// Operators of other domains need a local function, or a schema that the tool registered ("domains").
Result_ custom_operator(const CheckContext& c, const CheckSpec& spec) {
  if (!c.model || c.node.custom.empty() || listed(spec, "domains", c.node.custom)) return {};
  if (calls_function(c) || row_of(c.view.graph(), c.node)) return {};
  return said(c, spec, "");
}

/// "with_schema": the message names the schema ("Node(/Pad) with schema(::Pad:13) has input size 1 ...").
Result_ operand_count(const CheckContext& c, const CheckSpec& spec) {
  const OpSpec* row = row_of(c.view.graph(), c.node);
  if (!row || row->leaves) return {};
  const std::string node = spec.parameters.flag("with_schema")
                               ? fmt::format("Node({}) with schema({}::{}:{})", c.node.name, c.node.custom,
                                             name_in_domain(c.node), row->since)
                               : fmt::format("Node ({})", c.node.name);
  const auto beyond = [&](std::string_view what, std::size_t got, std::size_t min,
                          std::size_t max) -> Result_ {
    if (got >= min && got <= max) return {};
    return said(c, spec,
                fmt::format("{} has {} size {} not in range [min={}, max={}].", node, what, got, min, max));
  };
  constexpr std::size_t any = std::numeric_limits<std::int32_t>::max();
  if (auto fault = beyond("input", listed_operands(c.node), static_cast<std::size_t>(row->least_operands),
                          row->variadic ? any : row->operands.size()))
    return fault;
  return beyond("output", c.node.outputs.size(), static_cast<std::size_t>(row->least_results),
                row->most_results >= any_number ? any : static_cast<std::size_t>(row->most_results));
}

Result_ attributes(const CheckContext& c, const CheckSpec& spec) {
  const OpSpec* row = row_of(c.view.graph(), c.node);
  if (!row || row->leaves) return {};
  for (const auto& [name, value] : c.node.attrs) {
    if (name.empty() || name.front() == '#' || name.front() == '@' || row->find(name)) continue;
    return said(c, spec,
                fmt::format("Unrecognized attribute: {} for operator {}", name, name_in_domain(c.node)));
  }
  for (const AttributeSpec& attribute : row->attributes)
    if (!attribute.optional && !c.node.attrs.find(attribute.name) && !c.node.attrs.find("@" + attribute.name))
      return said(c, spec, fmt::format("Required attribute '{}' is missing.", attribute.name));
  return {};
}

/// Operands' types are among those of the schema, and one type variable has one type.
Result_ operand_types(const CheckContext& c, const CheckSpec& spec) {
  const OpSpec* row = row_of(c.view.graph(), c.node);
  if (!row || is_function_body(c)) return {};
  std::map<std::string_view, DType> bound;
  for (std::size_t i = 0; i < listed_operands(c.node); ++i) {
    const OperandSpec* operand = operand_spec(*row, i);
    if (!operand || c.node.inputs[i] < 0) continue;
    const Value& value = c.view.graph().value(c.node.inputs[i]);
    const std::string type = onnx_type_text(value.dtype);
    if (type.empty()) continue;
    if (!operand->types.empty() &&
        std::find(operand->types.begin(), operand->types.end(), value.dtype) == operand->types.end())
      return said(c, spec, "invalid",
                  fmt::format("Type '{}' of input parameter ({}) of operator ({}) in node ({}) is invalid.",
                              type, value.name, name_in_domain(c.node), c.node.name),
                  c.node.inputs[i]);
    if (operand->type_variable.empty()) continue;
    const auto [known, fresh] = bound.emplace(operand->type_variable, value.dtype);
    if (!fresh && known->second != value.dtype)
      return said(
          c, spec,
          fmt::format("Type parameter ({}) of Optype ({}) bound to different types ({} and {} in node ({}).",
                      operand->type_variable, name_in_domain(c.node), onnx_type_text(known->second), type,
                      c.node.name),
          c.node.inputs[i]);
  }
  return {};
}

/// Split of opset 18 on says its sizes or their number.
Result_ split_sizes(const CheckContext& c, const CheckSpec& spec) {
  if (c.node.op != "Split" || c.node.version < 18 || c.input_id(1) >= 0 || c.node.attrs.find("num_outputs"))
    return {};
  return said(c, spec, "Neither 'split' input nor 'num_outputs' attribute has been given");
}

}  // namespace

const std::vector<CheckEntry>& onnx_load_checks() {
  static const std::vector<CheckEntry> checks = {
      {"domain imported", domain_imported}, {"operator in set", operator_in_set},
      {"custom operator", custom_operator}, {"operand count", operand_count},
      {"attributes", attributes},           {"operand types", operand_types},
      {"split sizes", split_sizes},
  };
  return checks;
}

}  // namespace md
