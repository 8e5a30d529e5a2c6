#include "lib/rule/language/builtins.h"

#include <algorithm>

#include "lib/rule/language/builtin_parts.h"

namespace md {

std::span<const Builtin> builtins() {
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> all;
    for (const auto part : {builtin::value_functions(), builtin::list_functions(),
                            builtin::constant_functions(), builtin::graph_functions()})
      all.insert(all.end(), part.begin(), part.end());
    std::sort(all.begin(), all.end(), [](const Builtin& a, const Builtin& b) { return a.name < b.name; });
    return all;
  }();
  return table;
}

const Builtin* find_builtin(std::string_view name) {
  const auto table = builtins();
  const auto at = std::lower_bound(table.begin(), table.end(), name,
                                   [](const Builtin& b, std::string_view text) { return b.name < text; });
  return at != table.end() && at->name == name ? &*at : nullptr;
}

}  // namespace md
