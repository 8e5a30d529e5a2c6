// A Patch is what a rule proposes: a value, not an action. It is written against one graph and names existing
// values and nodes by their ids; values that it adds are named by ids of -2 and below (new_value(0) = -2,
// new_value(1) = -3).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

inline constexpr ValueId new_value(std::size_t i) {
  return static_cast<ValueId>(-2 - static_cast<std::int64_t>(i));
}
inline constexpr bool is_new_value(ValueId id) { return id <= -2; }
inline constexpr std::size_t new_value_index(ValueId id) { return static_cast<std::size_t>(-2 - id); }

/// Operand `operand` of a node that stays reads `value` instead.
struct Rewire {
  NodeId node = none_id;
  int operand = 0;
  ValueId value = none_id;
};

/// A node that stays gets another version, other attributes, or another output value at position `output`.
struct NodeChange {
  NodeId node = none_id;
  std::optional<int> version;
  Attributes set_attrs;
  std::vector<std::pair<int, ValueId>> outputs;  ///< (position, new value to write)
};

/// A value that stays gets another name, another type, or other constant bytes.
struct ValueChange {
  ValueId value = none_id;
  std::optional<std::string> name;
  std::optional<DType> dtype;
  std::optional<Shape> shape;
  std::optional<std::optional<Quantization>> quantization;
  std::optional<Constant> constant;
};

struct Patch {
  int graph = 0;
  std::string title;  ///< shown to people: "RELU then MINIMUM"
  std::vector<Value> new_values;
  std::vector<Node> new_nodes;  ///< read and write existing values or new ones; any order
  std::vector<NodeId> removed;
  std::vector<Rewire> rewires;
  std::vector<NodeChange> node_changes;
  std::vector<ValueChange> value_changes;
  std::optional<std::vector<ValueId>> graph_inputs, graph_outputs;  ///< set only when the interface changes

  // --- of the whole file, whichever graph the patch is for
  std::optional<int> format_version;
  /// Sets of these domains get these versions, added where the file has none; 0: the set leaves the file.
  /// Nodes of the domain, in every graph, become what their name means in that version.
  std::vector<OperatorSet> operator_sets;
  std::vector<Repair> repairs;  ///< entries of Model::repairs that are to be written

  bool changes_file() const { return format_version || !operator_sets.empty() || !repairs.empty(); }
  bool empty() const {
    return new_nodes.empty() && removed.empty() && rewires.empty() && node_changes.empty() &&
           value_changes.empty() && !graph_inputs && !graph_outputs && !changes_file();
  }
};

}  // namespace md
