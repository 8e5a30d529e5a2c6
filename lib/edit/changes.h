// What an edited copy of a model changes, by the ids it shares with the original; and whether a file that was
// written and opened again is the model that was meant.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

struct GraphChanges {
  int graph = 0;
  std::vector<NodeId> removed;         ///< ids in the original
  std::vector<NodeId> added, changed;  ///< ids in the edited graph
  std::vector<ValueId> added_values;   ///< ids in the edited graph
  std::vector<ValueId> retyped;  ///< another dtype, shape, quantization, variable mark, sparsity or name
  std::vector<ValueId>
      refilled;  ///< a constant with other bytes, or one that became or ceased to be constant
  bool inputs = false, outputs = false;  ///< the interface
  bool reordered = false;                ///< kept nodes run in another order
  bool empty() const {
    return removed.empty() && added.empty() && changed.empty() && added_values.empty() && retyped.empty() &&
           refilled.empty() && !inputs && !outputs && !reordered;
  }
};

struct Changes {
  std::vector<GraphChanges> graphs;  ///< only graphs that changed, ascending
  bool signatures = false;
  bool graph_count = false;  ///< the edited model has other graphs than the original
  bool file = false;         ///< another format version or operator set, or repairs that are to be written
  bool empty() const { return graphs.empty() && !signatures && !graph_count && !file; }
};

/// The declared difference. `edited` was made from `original` (its values and nodes carry origins). Constants
/// that share their bytes in memory are equal without being read. Cost O(graphs), plus the bytes of constants
/// that were replaced.
Changes list_changes(const Model& original, const Model& edited);

/// Are the node at its place in `edited` and the original it came from the same? (op, version, operands,
/// attributes)
bool same_node(const Node& a, const Node& b);
/// Everything but the constant's bytes and the default shape.
bool same_type(const Value& a, const Value& b);
/// Both no constant, or constants of equal bytes.
bool same_constant(const Value& a, const Value& b);

/// nullopt when `reopened`, read back from the file that was written for `edited`, has the same structure;
/// else the first difference for people. Node ids of `reopened` are positions in edited.order. Attributes
/// that `edited` leaves out are taken as written with their defaults. Bytes are compared for constants made
/// by a patch and for small ones; with `all_bytes` for every constant (reads all weights).
std::optional<std::string> same_structure(const Model& edited, const Model& reopened, bool all_bytes = false);

}  // namespace md
