// A target's constraint table: lib/runtime/NAME/*.constraints.json, read once. The format is described in
// lib/target/README.md.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/target/check.h"

namespace md {

/// A check with its place in the table.
struct TableCheck {
  CheckSpec spec;
  CheckFunction function = nullptr;
  bool crash = false;  ///< of a kernel check: the process dies
};
using CheckList = std::vector<TableCheck>;
struct TableModelCheck {
  CheckSpec spec;
  ModelCheckFunction function = nullptr;
};

struct Table {
  std::string target;
  std::vector<Version> versions;     ///< ascending; measured
  std::vector<std::string> formats;  ///< names of those that the runtime reads
  bool signature_names = false;      ///< texts name inputs and outputs as the signature does
  std::map<std::string, std::vector<std::string>, std::less<>> types;
  std::map<std::string, CheckList, std::less<>> operators;   ///< by operator name
  std::map<std::string, CheckList, std::less<>> customs;     ///< by custom code
  std::map<std::string, CheckList, std::less<>> composites;  ///< by composite name
  std::vector<TableModelCheck> model_checks;                 ///< of the file as a whole, before its nodes
  CheckList every_node;     ///< of all nodes, before the operator's own; texts are whole lines
  bool first_ends = false;  ///< the runtime stops at its first error: stage by stage, then node by node
  CheckList unknown_operator, unknown_custom, unknown_composite;
  std::map<std::string, CheckList, std::less<>>
      kernels;              ///< after the checks: what fails when the kernels are built
  std::string static_only;  ///< what is said of a graph with sizes that are known only at run time; empty:
                            ///< they are taken
  /// Checks of a node, in the runtime's order.
  const CheckList& checks_for(const Graph& graph, const Node& node) const;
};

/// `path` is for messages. Errors name the path and the place: malformed JSON, an unknown check or sequence,
/// a bad range.
Result<Table> parse_table(std::string_view path, std::string_view json);
/// The table of this target among those that the program carries, read at its first use; null: there is none.
/// A table that does not load is a programming error.
const Table* embedded_table(std::string_view target);

}  // namespace md
