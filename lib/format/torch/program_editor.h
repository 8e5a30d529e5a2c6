// Turns the difference between the model as read and an edited copy into replaced ranges of the program's
// JSON text.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/format/torch/layout.h"
#include "lib/format/torch/splice.h"

namespace md {

/// A constant that the edited program has and the file's does not, or whose bytes or type changed.
struct Pt2ChangedConstant {
  ValueId value = none_id;
  bool added = false;
  Pt2PortKind kind = Pt2PortKind::parameter;  ///< parameter, buffer, or constant
  std::string fqn;
};

class Pt2ProgramEditor {
 public:
  /// `shared_kind` tells the kind of the stored constant that has the same bytes as a new one, or `other`.
  Pt2ProgramEditor(const Model& original, const Model& edited, const Pt2Layout& layout,
                   std::function<Pt2PortKind(const Constant&)> shared_kind);

  Status run();
  const Splices& splices() const { return splices_; }
  const std::vector<Pt2ChangedConstant>& changed_constants() const { return changed_; }
  /// Names of parameters, buffers and constants whose placeholder is gone.
  const std::set<std::string>& dropped() const { return dropped_; }

 private:
  Status edit_graph(std::size_t index);
  void find_live_values(std::size_t index);
  void name_values(std::size_t index);
  Status edit_node(std::size_t index, NodeId id);
  Status edit_nodes(std::size_t index);
  void edit_values(std::size_t index);
  Status edit_inner_ports(std::size_t index);
  Status edit_interface();
  void edit_placeholders();
  Status edit_results();
  Status add_results(std::size_t first, std::vector<std::string>& ports, std::vector<std::string>& specs);
  bool is_renamed(std::size_t index, ValueId id) const;
  std::string name_of(std::size_t index, ValueId id) const;
  std::string metadata_for(std::size_t index, const Node& node) const;
  void add_metadata(JsonSpan metadata, const std::string& key, const std::string& text);
  std::string size_text(std::size_t index, const Value& value, std::size_t dim);
  bool is_live(std::size_t index, ValueId id) const { return live_[index].count(id) != 0; }

  const Model& original_;
  const Model& edited_;
  const Pt2Layout& layout_;
  std::function<Pt2PortKind(const Constant&)> shared_kind_;
  Splices splices_;
  std::unordered_set<std::string> used_names_;
  std::vector<std::unordered_map<ValueId, std::string>> new_names_;  ///< by graph
  std::vector<std::unordered_set<ValueId>>
      live_;  ///< by graph: values that the edited graph defines or reads
  std::unordered_map<std::string, std::string> symbol_sizes_;  ///< symbol -> its size object in the file
  std::vector<Pt2ChangedConstant> changed_;
  std::set<std::string> dropped_;
  std::string unnamed_;  ///< a value with a dimension that nothing names: torch would not load it
};

}  // namespace md
