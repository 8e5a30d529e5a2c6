#include "lib/rule/page/operator_index.h"

#include <algorithm>

#include "lib/format/tflite/queries.h"
#include "lib/format/torch/view.h"

namespace md {

bool is_root(std::string_view root, std::string_view op) {
  if (root == "unary elementwise") return is_unary_elementwise(op);
  if (root == "binary elementwise") return is_binary_elementwise(op);
  if (!root.ends_with('*')) return root == op;
  root.remove_suffix(1);
  return op.starts_with(root) ||
         (root.ends_with('.') && aten_in_place(op) && aten_functional(op).starts_with(root));
}

OperatorIndex::OperatorIndex(const Graph& graph) : order_(graph.order) {
  for (std::size_t i = 0; i < order_.size(); ++i)
    places_[graph.node(order_[i]).op].push_back(static_cast<std::int32_t>(i));
}

std::vector<NodeId> OperatorIndex::find(std::span<const std::string> roots) const {
  std::vector<std::int32_t> found;
  for (const auto& [op, places] : places_)
    if (std::any_of(roots.begin(), roots.end(),
                    [&, name = op](const std::string& root) { return is_root(root, name); }))
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
                       [&](const std::string& root) { return is_root(root, entry.first); });
  });
}

}  // namespace md
