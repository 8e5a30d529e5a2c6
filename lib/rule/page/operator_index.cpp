#include "lib/rule/page/operator_index.h"

#include <algorithm>

#include "lib/op/dialect.h"

namespace md {

bool is_root(std::string_view root, std::string_view op, const Dialect* dialect) {
  const auto any = [&](const auto& holds) {
    if (dialect) return holds(*dialect);
    return std::any_of(dialects().begin(), dialects().end(), [&](const Dialect* d) { return holds(*d); });
  };
  const auto row_is = [&](bool (*is)(const OpSpec& row)) {
    return any([&](const Dialect& d) {
      const OpSpec* row = row_of(d, op);
      return row && is(*row);
    });
  };
  if (root == "unary elementwise") return row_is([](const OpSpec& row) { return row.unary; });
  if (root == "binary elementwise")
    return row_is([](const OpSpec& row) { return row.binary || row.compare; });
  if (!root.ends_with('*')) return root == op;
  root.remove_suffix(1);
  return op.starts_with(root) || (root.ends_with('.') && any([&](const Dialect& d) {
                                    return d.functional_form && d.functional_form(op).starts_with(root);
                                  }));
}

OperatorIndex::OperatorIndex(const Graph& graph) : dialect_(graph.dialect), order_(graph.order) {
  for (std::size_t i = 0; i < order_.size(); ++i)
    places_[graph.node(order_[i]).op].push_back(static_cast<std::int32_t>(i));
}

std::vector<NodeId> OperatorIndex::find(std::span<const std::string> roots) const {
  std::vector<std::int32_t> found;
  for (const auto& [op, places] : places_)
    if (std::any_of(roots.begin(), roots.end(),
                    [&, name = op](const std::string& root) { return is_root(root, name, dialect_); }))
      found.insert(found.end(), places.begin(), places.end());
  std::sort(found.begin(), found.end());
  std::vector<NodeId> nodes;
  nodes.reserve(found.size());
  for (const std::int32_t place : found) nodes.push_back(order_[static_cast<std::size_t>(place)]);
  return nodes;
}

bool OperatorIndex::has(std::span<const std::string> roots) const {
  return std::any_of(places_.begin(), places_.end(), [&](const auto& entry) {
    return std::any_of(roots.begin(), roots.end(),
                       [&](const std::string& root) { return is_root(root, entry.first, dialect_); });
  });
}

}  // namespace md
