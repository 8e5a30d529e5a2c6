// One check of a constraint table: what a delegate looks at on a node, and what it says when it does not like
// it. The tables (lib/runtime/NAME/*.constraints.json) list for each operator its checks in the runtime's own
// order; here are the few primitives that they are made of.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/version.h"
#include "lib/graph/graph.h"

namespace md {

/// A check as the table has it: the primitive's name, its parameters, and the versions that have it.
struct CheckSpec {
  std::string name;
  Attributes parameters;
  VersionRange versions;  ///< empty: every version of the table
  std::string text(std::string_view key, std::string_view otherwise = "") const {
    return std::string(parameters.text(key, otherwise));
  }
  /// A list of operand positions; the parameter may be one number.
  std::vector<std::int64_t> operands(std::string_view key) const;
};

struct Fault {
  std::string text;         ///< behind "OP: "
  ValueId value = none_id;  ///< the tensor that the text names
};

/// A graph as the delegate sees it: constants behind a DEQUANTIZE of fp16 are read directly.
class DelegateView {
 public:
  /// `rename`: the runtime calls inputs and outputs by the names that the signature gives them.
  DelegateView(const Model& model, int graph, bool rename);
  const Graph& graph() const { return graph_; }
  /// The name of a tensor in the runtime's texts.
  const std::string& name(ValueId id) const;
  /// The value that a node's operand stands for; none_id for an absent operand or one beyond the list.
  ValueId operand(const Node& node, std::size_t index) const;
  /// DEQUANTIZE of a constant fp16 tensor: the delegate leaves it out without a reason and reads the constant
  /// itself.
  bool is_half_constant_dequantize(const Node& node) const;

 private:
  const Graph& graph_;
  std::map<ValueId, ValueId> behind_dequantize_;
  std::map<ValueId, const std::string*> signature_names_;
};

/// What a check sees.
struct CheckContext {
  const DelegateView& view;
  const Node& node;
  Version version;  ///< of the table in use
  /// Sets of type names that a gate's parameters name ("integers": {"INT8", ...}).
  const std::map<std::string, std::vector<std::string>, std::less<>>& type_groups;
  const Model* model = nullptr;  ///< of the graph, with its operator sets

  std::size_t input_count() const { return node.inputs.size(); }
  ValueId input_id(std::size_t index) const { return view.operand(node, index); }
  const Value* input(std::size_t index) const;   ///< null when absent
  const Value* output(std::size_t index) const;  ///< null when absent
  bool is_constant(std::size_t index) const;
  int runtime_inputs() const;   ///< present and not constant
  int constant_inputs() const;  ///< present and constant
};

/// A fault of the file as a whole, of a node or value of it where one is meant.
struct ModelFault {
  std::string text;
  int graph = 0;
  NodeId node = none_id;
  ValueId value = none_id;
};
using ModelCheckFunction = std::vector<ModelFault> (*)(const Model&, const CheckSpec&);
struct ModelCheckEntry {
  std::string_view name;
  ModelCheckFunction function;
};

using CheckFunction = std::optional<Fault> (*)(const CheckContext&, const CheckSpec&);
struct CheckEntry {
  std::string_view name;
  CheckFunction function;
};
/// The primitives of each group, by name (one file a group).
const std::vector<CheckEntry>& count_checks();
const std::vector<CheckEntry>& shape_checks();
const std::vector<CheckEntry>& constant_checks();
const std::vector<CheckEntry>& type_checks();
const std::vector<CheckEntry>& attribute_checks();
const std::vector<CheckEntry>& elementwise_checks();
const std::vector<CheckEntry>& slicing_checks();
const std::vector<CheckEntry>& convolution_checks();
const std::vector<CheckEntry>& composite_checks();
const std::vector<CheckEntry>& kernel_checks();
const std::vector<CheckEntry>& onnx_load_checks();
const std::vector<CheckEntry>& onnx_kernel_checks();
const std::vector<ModelCheckEntry>& onnx_model_checks();
/// Null when no check of a whole model has this name.
ModelCheckFunction find_model_check(std::string_view name);
/// Null when no primitive has this name.
CheckFunction find_check(std::string_view name);

/// "INT64", "FLOAT32": the runtime's names of element types.
std::string_view runtime_type_name(DType type);
/// Replaces "{key}" in a message template.
std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string>>& values);

std::int64_t elements(const Shape& shape);  ///< a dynamic dimension counts as 1

}  // namespace md
