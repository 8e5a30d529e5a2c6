// The nodes of a graph by operator: built once a graph and round, so that looking for a rule's sites costs as
// many steps as there are candidates, and not as many as there are nodes.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

class OperatorIndex {
 public:
  explicit OperatorIndex(const Graph& graph);

  /// The live nodes with one of the operators, in execution order. `roots` are operator names, the beginning
  /// of one with a '*' behind it ("aten.cat.*": every overload), "unary elementwise" or "binary elementwise".
  /// A '_' of an ATen name that writes in place does not matter in a name that ends in ".*".
  std::vector<NodeId> find(std::span<const std::string> roots) const;
  std::vector<NodeId> find(const std::string& root) const { return find(std::span(&root, 1)); }
  /// True when find() gives something; cheaper.
  bool has(std::span<const std::string> roots) const;

 private:
  const Dialect* dialect_ = nullptr;
  std::span<const NodeId> order_;
  std::unordered_map<std::string_view, std::vector<std::int32_t>> places_;  ///< operator -> places in order_
};

/// True when the operator is one that `root` names; see OperatorIndex::find. `dialect`: whose operator it is;
/// null: any format's.
bool is_root(std::string_view root, std::string_view op, const Dialect* dialect);

}  // namespace md
