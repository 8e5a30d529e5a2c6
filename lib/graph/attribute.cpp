#include "lib/graph/attribute.h"

#include <algorithm>

namespace md {

const AttrValue* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : entries_)
    if (key == name) return &value;
  return nullptr;
}

void Attributes::set(std::string_view name, AttrValue value) {
  for (auto& [key, old] : entries_)
    if (key == name) {
      old = std::move(value);
      return;
    }
  entries_.emplace_back(std::string(name), std::move(value));
}

void Attributes::erase(std::string_view name) {
  std::erase_if(entries_, [&](const auto& entry) { return entry.first == name; });
}

std::int64_t Attributes::integer(std::string_view name, std::int64_t otherwise) const {
  const AttrValue* value = find(name);
  if (!value) return otherwise;
  if (const auto* i = std::get_if<std::int64_t>(value)) return *i;
  if (const auto* b = std::get_if<bool>(value)) return *b ? 1 : 0;
  if (const auto* e = std::get_if<EnumValue>(value)) return e->number;
  return otherwise;
}

double Attributes::number(std::string_view name, double otherwise) const {
  const AttrValue* value = find(name);
  if (!value) return otherwise;
  if (const auto* d = std::get_if<double>(value)) return *d;
  if (const auto* i = std::get_if<std::int64_t>(value)) return static_cast<double>(*i);
  return otherwise;
}

bool Attributes::flag(std::string_view name, bool otherwise) const {
  return integer(name, otherwise ? 1 : 0) != 0;
}

std::string_view Attributes::text(std::string_view name, std::string_view otherwise) const {
  const AttrValue* value = find(name);
  if (!value) return otherwise;
  if (const auto* s = std::get_if<std::string>(value)) return *s;
  if (const auto* e = std::get_if<EnumValue>(value)) return e->name;
  return otherwise;
}

const std::vector<std::int64_t>* Attributes::integers(std::string_view name) const {
  const AttrValue* value = find(name);
  return value ? std::get_if<std::vector<std::int64_t>>(value) : nullptr;
}

}  // namespace md
