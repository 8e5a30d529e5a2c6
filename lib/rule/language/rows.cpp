#include "lib/rule/language/rows.h"

#include "lib/rule/page/operator_index.h"

namespace md {

const Rows::Row* Rows::find(std::string_view key) const {
  if (const auto at = table.find(key); at != table.end()) return &at->second;
  for (const auto& [pattern, row] : table)
    if (pattern.ends_with('*') && is_root(pattern, key, nullptr)) return &row;
  const auto at = table.find(std::string_view("otherwise"));
  return at == table.end() ? nullptr : &at->second;
}

std::vector<std::string> Rows::operators() const {
  std::vector<std::string> keys;
  if (by == "op")
    for (const auto& [key, row] : table)
      if (key != "otherwise") keys.push_back(key);
  return keys;
}

}  // namespace md
