#include "lib/format/torch/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "lib/format/torch/view.h"

namespace md {
namespace {

using K = AtenKind;

constexpr std::pair<std::string_view, K> kinds[] = {
    {"Tensor", K::tensor},
    {"Tensor?", K::optional_tensor},
    {"Tensor[]", K::tensors},
    {"Tensor?[]", K::optional_tensors},
    {"Scalar", K::number},
    {"float", K::number},
    {"int", K::integer},
    {"bool", K::flag},
    {"int[]", K::integers},
    {"float[]", K::numbers},
    {"str", K::text},
    {"ScalarType", K::scalar_type},
    {"Layout", K::layout},
    {"Device", K::device},
    {"MemoryFormat", K::memory_format},
};

/// Cuts the next piece up to `stop` off `text`.
std::string_view cut(std::string_view& text, std::string_view stop) {
  const std::size_t at = text.find(stop);
  const std::string_view piece = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + stop.size());
  return piece;
}

/// "int[] size=[]" of a schema.
AtenArgument argument_of(std::string_view text, bool keyword_only) {
  const std::string_view declaration = cut(text, "=");
  const std::size_t blank = declaration.rfind(' ');
  std::string_view type = declaration.substr(0, blank);
  AtenArgument argument;
  argument.name = declaration.substr(blank + 1);
  argument.keyword_only = keyword_only;
  argument.required = text.empty();
  argument.optional = type.ends_with('?');
  argument.kind = K::other;
  for (const std::string_view wanted : {type, type.substr(0, type.size() - (argument.optional ? 1 : 0))})
    for (const auto& [word, kind] : kinds)
      if (word == wanted && argument.kind == K::other) argument.kind = kind;
  return argument;
}

struct Table {
  std::deque<std::vector<AtenArgument>> arguments;
  std::vector<AtenSchema> schemas;  ///< ordered by name
};

Table read_table() {
  Table table;
  for (std::string_view rest = aten_schema_table(); !rest.empty();) {
    std::string_view line = cut(rest, "\n");
    AtenSchema schema;
    schema.op = cut(line, "(");
    std::string_view list = cut(line, ") -> ");
    std::vector<AtenArgument> arguments;
    for (bool keyword_only = false; !list.empty();) {
      const std::string_view text = cut(list, ", ");
      if (text == "*")
        keyword_only = true;
      else
        arguments.push_back(argument_of(text, keyword_only));
    }
    schema.arguments = table.arguments.emplace_back(std::move(arguments));
    schema.returns_list = line == "Tensor[]";
    // "()", "Tensor" or "(Tensor, Tensor)"
    schema.results =
        line == "()" ? 0 : 1 + static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
    table.schemas.push_back(schema);
  }
  return table;
}

bool takes_tensors(K kind) {
  return kind == K::tensor || kind == K::optional_tensor || kind == K::tensors || kind == K::optional_tensors;
}

std::string_view words(K kind) {
  switch (kind) {
    case K::tensor:
    case K::optional_tensor:
      return "a tensor";
    case K::tensors:
    case K::optional_tensors:
      return "a list of tensors";
    case K::number:
      return "a number";
    case K::integer:
      return "an integer";
    case K::flag:
      return "true or false";
    case K::integers:
      return "a list of integers";
    case K::numbers:
      return "a list of numbers";
    case K::text:
      return "a text";
    default:
      return "of its own kind";
  }
}

bool is_symbol(const Value& value) {
  return value.dtype == DType::symint || value.dtype == DType::symfloat || value.dtype == DType::symbool;
}

/// Whether a literal may stand for an argument of this kind.
bool literal_fits(K kind, bool optional, const AttrValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return optional || kind == K::optional_tensor;
  const bool integer = std::holds_alternative<std::int64_t>(value) || std::holds_alternative<bool>(value);
  const bool number = integer || std::holds_alternative<double>(value);
  const auto* integers = std::get_if<std::vector<std::int64_t>>(&value);
  const bool symbols = std::holds_alternative<std::vector<std::string>>(value);
  // An empty list is of any kind; complex numbers and infinities are texts.
  switch (kind) {
    case K::tensor:
    case K::optional_tensor:
    case K::number:
      return number || std::holds_alternative<std::string>(value);
    case K::tensors:
    case K::optional_tensors:
      return integers && integers->empty();
    case K::integer:
    case K::flag:
      return integer;
    case K::integers:
      return integers || integer || symbols;
    case K::numbers:
      return integers || number || symbols || std::holds_alternative<std::vector<double>>(value);
    case K::text:
      return std::holds_alternative<std::string>(value);
    default:
      return true;
  }
}

/// The operands given for one argument: its own and the entries of a list.
struct Given {
  int whole = 0, entries = 0;
  bool tensor = false, symbol = false, nested = false;
};

Given operands_for(const Graph& graph, const Node& node, std::string_view argument) {
  Given given;
  for (std::size_t i = 0; i < node.inputs.size() && i < node.input_names.size(); ++i) {
    std::string_view rest = node.input_names[i];
    if (!rest.starts_with(argument)) continue;
    rest.remove_prefix(argument.size());
    if (!rest.empty() && rest.front() != '[') continue;
    rest.empty() ? ++given.whole : ++given.entries;
    given.nested = given.nested || std::count(rest.begin(), rest.end(), '[') > 1;
    if (node.inputs[i] < 0) continue;
    (is_symbol(graph.value(node.inputs[i])) ? given.symbol : given.tensor) = true;
  }
  return given;
}

std::optional<std::string> misfit(const Graph& graph, const Node& node, const AtenArgument& argument) {
  const Given given = operands_for(graph, node, argument.name);
  const AttrValue* literal = node.attrs.find(argument.name);
  const auto wanted = [&] {
    return fmt::format("an argument \"{}\" of {} that is {}", argument.name, node.op, words(argument.kind));
  };
  if (!given.whole && !given.entries && !literal)
    return argument.required && !(argument.optional && takes_tensors(argument.kind)) ? std::optional(wanted())
                                                                                     : std::nullopt;
  if (given.whole > 1 || (given.whole && given.entries) || given.nested) return wanted();
  if (literal && !literal_fits(argument.kind, argument.optional, *literal)) return wanted();
  switch (argument.kind) {
    case K::tensor:
    case K::optional_tensor:
      return given.entries || (literal && (given.tensor || given.symbol)) ? std::optional(wanted())
                                                                          : std::nullopt;
    case K::tensors:
    case K::optional_tensors:
      return given.whole || given.symbol ? std::optional(wanted()) : std::nullopt;
    case K::integers:
    case K::numbers:
      return given.whole || given.tensor ? std::optional(wanted()) : std::nullopt;
    default:
      return given.tensor || given.entries ? std::optional(wanted()) : std::nullopt;
  }
}

}  // namespace

const AtenSchema* aten_schema(std::string_view op) {
  static const Table table = read_table();
  const auto it = std::lower_bound(table.schemas.begin(), table.schemas.end(), op,
                                   [](const AtenSchema& s, std::string_view name) { return s.op < name; });
  return it != table.schemas.end() && it->op == op ? &*it : nullptr;
}

std::optional<std::string> schema_misfit(const Graph& graph, const Node& node) {
  const AtenSchema* schema = aten_schema(node.op);
  if (!schema) schema = aten_schema(aten_functional(node.op));
  if (!schema) return std::nullopt;
  // Arguments that the file gives by position alone are not looked up by name.
  for (const std::string& name : node.input_names)
    if (!name.empty() && name[0] >= '0' && name[0] <= '9') return std::nullopt;
  bool wants_operand = false;
  for (const AtenArgument& argument : schema->arguments) {
    if (auto wanted = misfit(graph, node, argument)) return wanted;
    wants_operand =
        wants_operand || (argument.required && takes_tensors(argument.kind) && !argument.optional);
  }
  const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [](ValueId v) { return v >= 0; });
  if (!schema->returns_list && node.outputs.size() != schema->results)
    return fmt::format("{} result{} of {}, found {}", schema->results, schema->results == 1 ? "" : "s",
                       node.op, node.outputs.size());
  if (wants_operand && !any) return fmt::format("a tensor among the arguments of {}", node.op);
  return std::nullopt;
}

}  // namespace md
