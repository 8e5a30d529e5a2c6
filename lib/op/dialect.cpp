#include "lib/op/dialect.h"

#include <algorithm>
#include <cassert>
#include <set>

#include "lib/op/file_kind.h"

namespace md {

const Dialect* find_dialect(std::string_view name) {
  for (const Dialect* known : dialects())
    if (known->name == name) return known;
  return nullptr;
}

const Dialect& dialect(std::string_view name) {
  const Dialect* found = find_dialect(name);
  assert(found && "a format that this build does not have");
  return *found;
}

std::string dialect_names() {
  std::string names;
  for (const Dialect* known : dialects()) {
    if (!names.empty()) names += ", ";
    names += known->name;
  }
  return names;
}

std::string dialect_extensions(std::string_view last_separator) {
  std::string text;
  const auto all = dialects();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 < all.size() ? std::string_view(", ") : last_separator;
    text += all[i]->extension;
  }
  return text;
}

bool is_model_extension(std::string_view extension) {
  const auto all = dialects();
  return std::any_of(all.begin(), all.end(), [&](const Dialect* d) { return d->extension == extension; });
}

std::vector<int> called_graphs(const Model& model) {
  std::set<int> called;
  std::vector<int> pending = {0};
  while (!pending.empty()) {
    const int g = pending.back();
    pending.pop_back();
    if (g < 0 || static_cast<std::size_t>(g) >= model.graphs.size() || !called.insert(g).second) continue;
    const Graph& graph = model.graphs[static_cast<std::size_t>(g)];
    for (const NodeId id : graph.order)
      for (const std::int32_t inner : graph.node(id).subgraphs) pending.push_back(inner);
  }
  return {called.begin(), called.end()};
}

}  // namespace md
