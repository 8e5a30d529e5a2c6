#include "lib/eval/primitives/scatter.h"

#include <algorithm>

namespace md {
namespace {

bool contains(const std::vector<std::int64_t>& list, std::size_t axis) {
  return std::find(list.begin(), list.end(), static_cast<std::int64_t>(axis)) != list.end();
}

/// Row-major counting through a shape.
class Counter {
 public:
  explicit Counter(const Shape& shape) : shape_(shape), at_(shape.size(), 0) {}
  const Shape& at() const { return at_; }
  void next() {
    for (std::size_t i = at_.size(); i-- > 0;) {
      if (++at_[i] < shape_[i]) return;
      at_[i] = 0;
    }
  }

 private:
  const Shape& shape_;
  Shape at_;
};

const std::vector<std::int64_t>& list_of(const Attributes& attrs, std::string_view name) {
  static const std::vector<std::int64_t> none;
  const auto* list = attrs.integers(name);
  return list ? *list : none;
}

}  // namespace

std::optional<std::vector<std::int64_t>> scatter_targets(const Attributes& attrs, const Shape& operand,
                                                         const Shape& indices, const Shape& updates,
                                                         const std::vector<std::int64_t>& index_values) {
  const auto& windows = list_of(attrs, "update_window_dims");
  const auto& inserted = list_of(attrs, "inserted_window_dims");
  const auto& to_operand = list_of(attrs, "scatter_dims_to_operand_dims");
  const std::int64_t vector_dim = attrs.integer("index_vector_dim");
  const auto count = element_count(updates), places = element_count(indices);
  if (!count || !places || static_cast<std::size_t>(*places) != index_values.size()) return std::nullopt;
  if (windows.size() + inserted.size() != operand.size() || vector_dim < 0 ||
      vector_dim > static_cast<std::int64_t>(indices.size()))
    return std::nullopt;
  for (const std::int64_t axis : to_operand)
    if (axis < 0 || axis >= static_cast<std::int64_t>(operand.size())) return std::nullopt;
  Shape batch = indices;  // the axes that tell the index vectors apart
  const bool explicit_vector = vector_dim < static_cast<std::int64_t>(indices.size());
  const std::int64_t length = explicit_vector ? indices[static_cast<std::size_t>(vector_dim)] : 1;
  if (explicit_vector) batch.erase(batch.begin() + static_cast<std::ptrdiff_t>(vector_dim));
  if (static_cast<std::size_t>(length) != to_operand.size() ||
      batch.size() + windows.size() != updates.size())
    return std::nullopt;
  std::int64_t behind = 1;  // elements of the index tensor from one number of a vector to the next
  if (explicit_vector)
    for (std::size_t i = static_cast<std::size_t>(vector_dim) + 1; i < indices.size(); ++i)
      behind *= indices[i];
  std::vector<std::int64_t> targets;
  targets.reserve(static_cast<std::size_t>(*count));
  Counter update(updates);
  for (std::int64_t n = 0; n < *count; ++n, update.next()) {
    std::int64_t vector = 0;
    std::size_t b = 0;
    Shape window;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      if (contains(windows, i)) {
        window.push_back(update.at()[i]);
        continue;
      }
      if (updates[i] != batch[b]) return std::nullopt;
      vector = vector * batch[b++] + update.at()[i];
    }
    Shape place(operand.size(), 0);
    std::size_t w = 0;
    for (std::size_t i = 0; i < operand.size(); ++i)
      if (!contains(inserted, i) && w < window.size()) place[i] = window[w++];
    const std::int64_t first = vector / behind * behind * length + vector % behind;
    for (std::size_t i = 0; i < to_operand.size(); ++i)
      place[static_cast<std::size_t>(to_operand[i])] +=
          index_values[static_cast<std::size_t>(first + static_cast<std::int64_t>(i) * behind)];
    std::int64_t target = 0;
    for (std::size_t i = 0; i < operand.size() && target >= 0; ++i)
      target = place[i] < 0 || place[i] >= operand[i] ? -1 : target * operand[i] + place[i];
    targets.push_back(target);
  }
  return targets;
}

bool scatter_overwrites(const Model& model, const Node& node) {
  const std::int64_t body = node.attrs.integer("update_computation_subgraph_index");
  if (body < 1 || body >= static_cast<std::int64_t>(model.graphs.size())) return false;
  const Graph& graph = model.graphs[static_cast<std::size_t>(body)];
  return graph.order.empty() && graph.inputs.size() == 2 && graph.outputs.size() == 1 &&
         graph.outputs[0] == graph.inputs[1];
}

}  // namespace md
