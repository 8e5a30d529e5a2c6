#include "lib/op/dialect.h"

#include <algorithm>

namespace md {
namespace {

const OpTable* table_of(const Dialect& dialect) { return dialect.operators ? &dialect.operators() : nullptr; }

/// All versions of an operator, ascending.
std::span<const OpSpec> rows_named(const OpTable& table, std::string_view op) {
  const auto before = [](const OpSpec& spec, std::string_view text) { return spec.name < text; };
  const auto begin = std::lower_bound(table.ops.begin(), table.ops.end(), op, before);
  auto end = begin;
  while (end != table.ops.end() && end->name == op) ++end;
  return {begin, end};
}

/// Integers, booleans and enumerations compare by number: a reader may give 0 where the table says false.
bool same_value(const AttrValue& a, const AttrValue& b) {
  const auto number = [](const AttrValue& v) -> std::optional<std::int64_t> {
    if (const auto* i = std::get_if<std::int64_t>(&v)) return *i;
    if (const auto* flag = std::get_if<bool>(&v)) return *flag ? 1 : 0;
    if (const auto* e = std::get_if<EnumValue>(&v)) return e->number;
    return std::nullopt;
  };
  const auto x = number(a), y = number(b);
  return x && y ? *x == *y : a == b;
}

}  // namespace

std::optional<EnumValue> EnumSpec::find(std::string_view value) const {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] == value) return EnumValue{static_cast<std::int64_t>(i), values[i]};
  return std::nullopt;
}

const AttributeSpec* OpSpec::find(std::string_view attribute) const {
  for (const AttributeSpec& spec : attributes)
    if (spec.name == attribute) return &spec;
  return nullptr;
}

bool has_op_table(const Dialect& dialect) {
  const OpTable* table = table_of(dialect);
  return table && table->complete;
}

const OpSpec* row_of(const Dialect& dialect, std::string_view op) {
  const OpTable* table = table_of(dialect);
  if (!table) return nullptr;
  const std::span<const OpSpec> rows = rows_named(*table, op);
  if (!rows.empty()) return rows.back().leaves && rows.size() > 1 ? &rows[rows.size() - 2] : &rows.back();
  return table->by_form ? table->by_form(op) : nullptr;
}

const OpSpec* row_of(const Dialect& dialect, std::string_view op, int version) {
  const OpTable* table = table_of(dialect);
  if (!table) return nullptr;
  const std::span<const OpSpec> rows = rows_named(*table, op);
  if (rows.empty()) return table->by_form ? table->by_form(op) : nullptr;
  if (rows.size() == 1 && rows[0].since <= 1)
    return &rows[0];  // its versions differ in nothing that rows say
  const auto after = std::upper_bound(rows.begin(), rows.end(), version,
                                      [](int number, const OpSpec& row) { return number < row.since; });
  return after == rows.begin() || std::prev(after)->leaves ? nullptr : &*std::prev(after);
}

const OpSpec* find_op(const Dialect& dialect, std::string_view op) {
  return has_op_table(dialect) ? row_of(dialect, op) : nullptr;
}

const OpSpec* find_op(const Dialect& dialect, const Node& node) {
  return has_op_table(dialect) ? row_of(dialect, node.op, node.version) : nullptr;
}

const OpSpec* row_of(const Graph& graph, const Node& node) {
  return graph.dialect ? row_of(*graph.dialect, node.op, node.version) : nullptr;
}

int usual_version(const Dialect& dialect, std::string_view op) {
  const OpSpec* row = row_of(dialect, op);
  return row ? row->since : 1;
}

std::optional<int> version_in_set(const Dialect& dialect, std::string_view op, int set) {
  const OpTable* table = table_of(dialect);
  if (!table || rows_named(*table, op).empty()) return set;
  const OpSpec* row = row_of(dialect, op, set);
  return row ? std::optional<int>(row->since) : std::nullopt;
}

std::string shown_name(const Graph& graph, const Node& node) {
  const OpSpec* row = row_of(graph, node);
  return row && row->named && !node.custom.empty() ? node.op + " " + node.custom : node.op;
}

bool is_elementwise(const Graph& graph, const Node& node) {
  const OpSpec* row = row_of(graph, node);
  return row && row->is_elementwise();
}

bool has_state(const Graph& graph, const Node& node) {
  const OpSpec* row = row_of(graph, node);
  return row && row->has_state();
}

bool writes_operand(const Graph& graph, const Node& node) {
  const OpSpec* row = row_of(graph, node);
  return row && row->writes_operand;
}

bool has_effects(const Graph& graph, const Node& node) {
  const OpSpec* row = row_of(graph, node);
  return node.outputs.empty() || !node.subgraphs.empty() || (row && row->has_effects());
}

std::vector<std::string> op_names(const Dialect& dialect) {
  std::vector<std::string> names;
  if (const OpTable* table = table_of(dialect); table && table->complete)
    for (const OpSpec& spec : table->ops)
      if (names.empty() || names.back() != spec.name) names.push_back(spec.name);
  return names;
}

Attributes with_defaults(const Dialect& dialect, const Node& node) {
  Attributes full;
  const OpSpec* spec = find_op(dialect, node);
  if (spec)
    for (const AttributeSpec& attribute : spec->attributes) {
      const AttrValue* own = node.attrs.find(attribute.name);
      if (own || !std::holds_alternative<std::monostate>(attribute.usual))
        full.set(attribute.name, own ? *own : attribute.usual);
    }
  for (const auto& [key, value] : node.attrs) full.set(key, value);
  return full;
}

bool same_attributes(const Dialect& dialect, const Node& a, const Node& b) {
  const Attributes x = with_defaults(dialect, a), y = with_defaults(dialect, b);
  const auto within = [](const Attributes& small, const Attributes& large) {
    return std::all_of(small.begin(), small.end(), [&](const auto& entry) {
      const AttrValue* other = large.find(entry.first);
      return other && same_value(entry.second, *other);
    });
  };
  return within(x, y) && within(y, x);
}

const AttrValue* attribute_or_usual(const Dialect& dialect, const Node& node, std::string_view name) {
  if (const AttrValue* own = node.attrs.find(name)) return own;
  const OpSpec* spec = find_op(dialect, node);
  const AttributeSpec* attribute = spec ? spec->find(name) : nullptr;
  return attribute ? &attribute->usual : nullptr;
}

}  // namespace md
