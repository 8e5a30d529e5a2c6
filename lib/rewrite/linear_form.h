// Elements as sums of a source's elements with constant factors: what an interpolation, a pooling or a
// resampling by a constant grid really computes, whatever operators it is written with.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

/// One term: factor * source[element].
struct Term {
  std::int64_t element = 0;
  double factor = 0;
};
using Form = std::vector<Term>;  ///< by element, no zero factors

class LinearForms {
 public:
  /// `nodes`: between the source and the values that are asked for.
  LinearForms(const Model& model, int graph_index, ValueId source, std::set<NodeId> nodes);

  /// True when this operator hands linear forms on (its other operands must be constant).
  static bool is_linear(const Node& node);

  /// nullopt: not a linear function of the source, or a constant that cannot be computed.
  std::optional<Form> form(ValueId value, std::int64_t element);

 private:
  const std::vector<double>* constant(ValueId id);
  std::optional<Form> of_node(const Node& node, ValueId value, std::int64_t element);
  std::optional<Form> arithmetic(const Node& node, ValueId value, std::int64_t element);
  std::optional<Form> selection(const Node& node, ValueId value, std::int64_t element);
  std::optional<Form> reduction(const Node& node, ValueId value, std::int64_t element);
  std::optional<Form> moved(const Node& node, ValueId value, std::int64_t element);
  std::optional<Form> joined(const Node& node, Shape index);
  const Shape& shape(ValueId id) const { return graph_.value(id).shape; }

  const Model& model_;
  int graph_index_;
  const Graph& graph_;
  ValueId source_;
  std::set<NodeId> nodes_;
  std::map<ValueId, std::optional<std::vector<double>>> constants_;
};

}  // namespace md
