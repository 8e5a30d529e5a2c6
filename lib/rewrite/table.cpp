#include <algorithm>

#include "lib/rewrite/families.h"

namespace md {

std::span<const NamedRewrite> named_rewrites() {
  static const std::vector<NamedRewrite> table = [] {
    std::vector<NamedRewrite> all;
    for (const auto part :
         {rewrites::operand_rewrites(), rewrites::output_rewrites(), rewrites::operator_rewrites(),
          rewrites::padding_rewrites(), rewrites::graph_rewrites(), rewrites::program_rewrites(),
          rewrites::onnx_rewrites()})
      all.insert(all.end(), part.begin(), part.end());
    std::sort(all.begin(), all.end(),
              [](const NamedRewrite& a, const NamedRewrite& b) { return a.name < b.name; });
    return all;
  }();
  return table;
}

const NamedRewrite* find_named_rewrite(std::string_view name) {
  const auto table = named_rewrites();
  const auto at =
      std::lower_bound(table.begin(), table.end(), name,
                       [](const NamedRewrite& r, std::string_view text) { return r.name < text; });
  return at != table.end() && at->name == name ? &*at : nullptr;
}

}  // namespace md
