#include "lib/op/ops.h"

#include <algorithm>

namespace md {
namespace {

const OpTable* table_of(Format format) { return format == Format::tflite ? &tflite_ops() : nullptr; }

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

bool has_op_table(Format format) { return table_of(format) != nullptr; }

const OpSpec* find_op(Format format, std::string_view op) {
  const OpTable* table = table_of(format);
  if (!table) return nullptr;
  const auto at =
      std::lower_bound(table->ops.begin(), table->ops.end(), op,
                       [](const OpSpec& spec, std::string_view text) { return spec.name < text; });
  return at != table->ops.end() && at->name == op ? &*at : nullptr;
}

std::vector<std::string> op_names(Format format) {
  std::vector<std::string> names;
  if (const OpTable* table = table_of(format))
    for (const OpSpec& spec : table->ops) names.push_back(spec.name);
  return names;
}

Attributes with_defaults(Format format, const Node& node) {
  Attributes full;
  const OpSpec* spec = find_op(format, node.op);
  if (spec)
    for (const AttributeSpec& attribute : spec->attributes) {
      const AttrValue* own = node.attrs.find(attribute.name);
      full.set(attribute.name, own ? *own : attribute.usual);
    }
  for (const auto& [key, value] : node.attrs) full.set(key, value);
  return full;
}

bool same_attributes(Format format, const Node& a, const Node& b) {
  const Attributes x = with_defaults(format, a), y = with_defaults(format, b);
  const auto within = [](const Attributes& small, const Attributes& large) {
    return std::all_of(small.begin(), small.end(), [&](const auto& entry) {
      const AttrValue* other = large.find(entry.first);
      return other && same_value(entry.second, *other);
    });
  };
  return within(x, y) && within(y, x);
}

const AttrValue* attribute_or_usual(Format format, const Node& node, std::string_view name) {
  if (const AttrValue* own = node.attrs.find(name)) return own;
  const OpSpec* spec = find_op(format, node.op);
  const AttributeSpec* attribute = spec ? spec->find(name) : nullptr;
  return attribute ? &attribute->usual : nullptr;
}

}  // namespace md
