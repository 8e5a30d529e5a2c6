// The table of ONNX's operators from the schemas' lines (schema_table.cpp):
//
//   NAME SINCE LEAST_OPERANDS LEAST_RESULTS | operands | results | attributes | type variables
//   NAME SINCE !                              there is no such operator from this version on
//
// An operand or result is NAME MARK:TYPE. Marks: "?" may be absent, "..." any number, "...~" any number of
// several types. TYPE is a variable's name, or "=" and letters. Attributes: name:kind, then "!" when there
// must be one, "=default" when the schema gives one. Kinds: i f s I F S (numbers, text, lists), g G graphs,
// t T p P x X (tensors, types, sparse tensors). A type variable is NAME=letters, one an element type.
#include "lib/format/onnx/operators.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "lib/format/onnx/operator_facts.h"
#include "lib/format/onnx/schema_table.h"

namespace md {
namespace {

constexpr std::pair<char, DType> letters[] = {
    {'f', DType::f32},      {'d', DType::f64},        {'h', DType::f16},     {'B', DType::bf16},
    {'c', DType::i8},       {'s', DType::i16},        {'i', DType::i32},     {'l', DType::i64},
    {'C', DType::u8},       {'S', DType::u16},        {'I', DType::u32},     {'L', DType::u64},
    {'b', DType::boolean},  {'t', DType::string},     {'z', DType::c64},     {'Z', DType::c128},
    {'n', DType::i4},       {'N', DType::u4},         {'m', DType::i2},      {'M', DType::u2},
    {'1', DType::f8e4m3fn}, {'2', DType::f8e4m3fnuz}, {'3', DType::f8e5m2},  {'4', DType::f8e5m2fnuz},
    {'5', DType::f8e8m0},   {'6', DType::f4e2m1},     {'v', DType::variant},
};

/// TensorProto.DataType by number (onnx.proto, IR version 14).
constexpr DType data_types[] = {
    DType::unknown,    DType::f32,    DType::u8,         DType::i8,      DType::u16,  DType::i16,
    DType::i32,        DType::i64,    DType::string,     DType::boolean, DType::f16,  DType::f64,
    DType::u32,        DType::u64,    DType::c64,        DType::c128,    DType::bf16, DType::f8e4m3fn,
    DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::u4,      DType::i4,   DType::f4e2m1,
    DType::f8e8m0,     DType::u2,     DType::i2,
};

/// Cuts the next piece up to `stop` off `text`, without blanks around it.
std::string_view cut(std::string_view& text, char stop) {
  const std::size_t at = text.find(stop);
  std::string_view piece = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  while (!piece.empty() && piece.front() == ' ') piece.remove_prefix(1);
  while (!piece.empty() && piece.back() == ' ') piece.remove_suffix(1);
  return piece;
}

std::int64_t integer_of(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Attributes are floats: the number that the file would hold.
double real_of(std::string_view text) {
  return static_cast<double>(std::strtof(std::string(text).c_str(), nullptr));
}

std::vector<DType> types_of(std::string_view text) {
  std::vector<DType> types;
  types.reserve(text.size());
  for (const char letter : text)
    for (const auto& [key, type] : letters)
      if (key == letter) types.push_back(type);
  return types;
}

template <class T, class F>
std::vector<T> list_of(std::string_view text, F&& number) {
  std::vector<T> list;
  while (!text.empty()) list.push_back(T(number(cut(text, ','))));
  return list;
}

AttrValue value_of(char kind, std::string_view text) {
  switch (kind) {
    case 'f':
      return real_of(text);
    case 's':
      return std::string(text);
    case 'F':
      return list_of<double>(text, real_of);
    case 'S':
      return list_of<std::string>(text, [](std::string_view t) { return std::string(t); });
    case 'I':
      return list_of<std::int64_t>(text, integer_of);
    case 'G':
      return std::vector<std::int64_t>();
    case 'i':
    case 'g':
      return integer_of(text);
    default:
      return Blob();
  }
}

AttributeSpec attribute_of(std::string_view text) {
  AttributeSpec spec;
  spec.name = cut(text, ':');
  const char kind = text.empty() ? 'i' : text.front();
  if (!text.empty()) text.remove_prefix(1);
  spec.optional = text != "!";
  const bool given = text.starts_with('=');
  spec.schema_default = value_of(kind, given ? text.substr(1) : std::string_view());
  if (given) spec.usual = spec.schema_default;
  return spec;
}

struct Parameter {
  std::string name;
  OperandSpec spec;
  bool variadic = false;
};

using Variables = std::vector<std::pair<std::string_view, std::vector<DType>>>;

Parameter parameter_of(std::string_view text, const Variables& variables) {
  Parameter made;
  std::string_view name = cut(text, ':');
  const bool several_types = name.ends_with('~');
  if (several_types) name.remove_suffix(1);
  if (name.ends_with("...")) made.variadic = true, name.remove_suffix(3);
  if (name.ends_with('?')) made.spec.optional = true, name.remove_suffix(1);
  made.name = std::string(name);
  if (text.starts_with('=')) {
    made.spec.types = types_of(text.substr(1));
    return made;
  }
  if (!several_types) made.spec.type_variable = std::string(text);
  for (const auto& [variable, types] : variables)
    if (variable == text) made.spec.types = types;
  return made;
}

Variables variables_of(std::string_view text) {
  Variables variables;
  while (!text.empty()) {
    std::string_view one = cut(text, ' ');
    const std::string_view name = cut(one, '=');
    variables.emplace_back(name, types_of(one));
  }
  return variables;
}

/// The file decides nothing here: rows are lenient, the least numbers are for messages and targets.
OpSpec row_from(std::string_view line) {
  OpSpec row;
  std::string_view head = cut(line, '|');
  row.name = std::string(cut(head, ' '));
  row.since = static_cast<int>(integer_of(cut(head, ' ')));
  if (head == "!") {
    row.leaves = true;
    return row;
  }
  row.least_operands = static_cast<int>(integer_of(cut(head, ' ')));
  row.least_results = static_cast<int>(integer_of(head));
  std::string_view operands = cut(line, '|'), results = cut(line, '|'), attributes = cut(line, '|');
  const Variables variables = variables_of(line);
  while (!operands.empty()) {
    Parameter made = parameter_of(cut(operands, ' '), variables);
    row.variadic = row.variadic || made.variadic;
    if (!made.spec.optional && !made.variadic && row.required == static_cast<int>(row.operands.size()))
      ++row.required;
    row.operands.push_back(std::move(made.name));
    row.operand_specs.push_back(std::move(made.spec));
  }
  row.most_results = 0;
  while (!results.empty()) {
    Parameter made = parameter_of(cut(results, ' '), variables);
    row.most_results = made.variadic ? any_number : row.most_results + 1;
    row.result_specs.push_back(std::move(made.spec));
  }
  while (!attributes.empty()) row.attributes.push_back(attribute_of(cut(attributes, ' ')));
  return row;
}

OpTable read_table() {
  OpTable table;
  table.strict = false;
  table.ops.reserve(800);
  for (std::string_view part : onnx_schema_table())
    while (!part.empty()) {
      OpSpec row = row_from(cut(part, '\n'));
      if (!row.leaves) add_onnx_facts(row);
      table.ops.push_back(std::move(row));
    }
  return table;
}

}  // namespace

const OpTable& onnx_ops() {
  static const OpTable table = read_table();
  return table;
}

const OpSpec* onnx_row(std::string_view op, int set) {
  const OpSpec* found = nullptr;
  const std::vector<OpSpec>& rows = onnx_ops().ops;
  auto at = std::lower_bound(rows.begin(), rows.end(), op,
                             [](const OpSpec& row, std::string_view text) { return row.name < text; });
  for (; at != rows.end() && at->name == op && at->since <= set; ++at) found = &*at;
  return found && !found->leaves ? found : nullptr;
}

std::optional<DType> dtype_of_onnx(std::int64_t data_type) {
  if (data_type < 1 || data_type >= static_cast<std::int64_t>(std::size(data_types))) return std::nullopt;
  return data_types[data_type];
}

std::optional<std::int64_t> onnx_data_type(DType dtype) {
  const auto at = std::find(std::begin(data_types) + 1, std::end(data_types), dtype);
  if (at == std::end(data_types)) return std::nullopt;
  return at - std::begin(data_types);
}

}  // namespace md
