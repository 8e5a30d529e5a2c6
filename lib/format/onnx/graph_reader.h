// Reads one graph of an .onnx file, the bodies inside its nodes included; see reader.h.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/format/onnx/reader.h"
#include "lib/format/onnx/tensor.h"

namespace md::onnx {

/// What the graphs of one file share while it is read. Graphs stay where they are: others are added
/// meanwhile.
struct ReadState {
  std::shared_ptr<const MappedFile> file;
  ExternalFiles external;
  std::deque<Graph> graphs{};
  std::deque<GraphPlace> places{};
  std::vector<Repair> repairs{};
  int format_version = 0;
  std::map<std::string, int, std::less<>>
      functions{};                          ///< local functions by the name of nodes that call them
  std::set<std::string> missing_domains{};  ///< used, and not imported

  /// "m.onnx: byte 12: expected ...". `place` points into the file.
  tl::unexpected<Error> error(const std::uint8_t* place, std::string_view what) const;
};

/// The name of a node's operator in the view: "Conv", "com.microsoft.Gelu".
std::string operator_name(std::string_view domain, std::string_view op_type);
/// "" for the default domain, which has two names.
inline std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

class GraphReader {
 public:
  /// `sets`: what the graph's nodes are written against. `outer`: the graph around it; null: none.
  GraphReader(ReadState& state, int index, Bytes message, const std::vector<OperatorSet>& sets,
              GraphReader* outer);
  Status read_graph();
  Status read_function();
  /// Names of values of outer graphs that this one reads, constants not among them; each is an input.
  const std::vector<std::string>& captures() const { return captures_; }

 private:
  struct RawNode {
    std::string_view op, domain, name;
    std::vector<std::string_view> inputs, outputs;
    std::vector<Bytes> attributes, metadata;
    Bytes whole, content;
  };
  struct RawValue {
    std::string_view name;
    Bytes whole, content;
  };

  Status scan_graph();
  Status scan_function();
  Status scan_node(const Field& field);
  Status scan_value(const Field& field, std::vector<RawValue>& values);
  Status define_inputs();
  Status define_initializers();
  void define_sparse_initializers();
  Status define_results();
  Status type_values();
  Status connect();
  Status connect_node(NodeId id);
  Status read_attribute(Bytes message, Node& node, std::vector<std::unique_ptr<GraphReader>>& bodies);
  Status read_constant_node(NodeId id);
  Status read_body(Bytes message, Node& node, std::vector<std::unique_ptr<GraphReader>>& bodies,
                   std::int32_t& index);
  void share_captures(Node& node, const std::vector<std::unique_ptr<GraphReader>>& bodies);
  Status define_outputs();
  Status sort_nodes();
  void set_version(Node& node);

  ValueId add_value(std::string_view name);
  ValueId define(std::string_view name, NodeId by);
  /// The value of this name where node `current_` stands; captured from outside where this graph has none.
  ValueId resolve(std::string_view name);
  ValueId capture(std::string_view name);
  Value& value(ValueId id) { return graph().values[static_cast<std::size_t>(id)]; }
  ValuePlace& value_place(ValueId id) { return place().values[static_cast<std::size_t>(id)]; }
  Graph& graph() { return state_.graphs[static_cast<std::size_t>(index_)]; }
  GraphPlace& place() { return state_.places[static_cast<std::size_t>(index_)]; }
  void repair(std::string_view kind, std::string text, NodeId node = none_id, ValueId value = none_id);

  ReadState& state_;
  int index_, depth_ = 0;
  Bytes message_;
  const std::vector<OperatorSet>& sets_;
  GraphReader* outer_;
  std::string_view name_;
  std::vector<RawNode> nodes_;
  std::vector<Field> initializers_, sparse_;
  std::vector<RawValue> inputs_, outputs_, infos_;
  std::vector<std::string_view> function_inputs_, function_outputs_;
  std::unordered_map<std::string, ValueId> names_;
  /// Of names that several nodes write: who writes them, after the first, ascending.
  std::unordered_map<std::string, std::vector<std::pair<NodeId, ValueId>>> later_;
  std::vector<NodeId> producer_;  ///< by ValueId
  std::vector<std::string> captures_;
  std::set<std::string> taken_;  ///< names of nodes
  NodeId current_ = none_id;
};

}  // namespace md::onnx
