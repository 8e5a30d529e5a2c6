// What the engine knows of a file format: one constant a format, defined in lib/format/NAME/dialect.cpp. The
// build makes the table of them from the names of the folders (generated/dialects.cpp), so a format is added
// by adding a folder; nobody else names one.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/graph/document.h"
#include "lib/op/infer.h"
#include "lib/op/ops.h"

namespace md {

struct KernelCall;
struct KernelEntry;
class PatchBuilder;

/// Kernels of one source file (lib/eval/kernel.h).
using KernelGroup = std::span<const KernelEntry> (*)();

/// A node whose results have no static size, and the first such result.
struct UnsizedValue {
  NodeId node = none_id;
  ValueId value = none_id;
};

/// A null function: the format has no such thing, and the engine does without.
struct Dialect {
  std::string_view name;       ///< in JSON, rule pages, targets: "tflite"
  std::string_view extension;  ///< of its files, with the dot; only for messages and for looking into folders
  bool (*recognizes)(Bytes file) = nullptr;  ///< by its first bytes, never by its name
  Result<std::unique_ptr<Document>> (*open)(std::shared_ptr<const MappedFile> file) = nullptr;

  // --- operators
  const OpTable& (*operators)() = nullptr;  ///< null: nothing is known of any
  /// An operator of another set than the format's own has the set's domain in front of its name
  /// ("com.microsoft.Gelu"), and in `Node::custom`.
  bool domains_in_names = false;
  /// The operator that is named by its code (`Node::custom`) instead of its name; "" when there is none.
  std::string_view custom_operator = "";
  tl::expected<std::vector<ValueType>, NoType> (*infer)(const Node& node,
                                                        std::span<const Value* const> operands,
                                                        std::size_t outputs) = nullptr;
  /// Fills the attributes that only repeat what the operands and results say and that the node does not have.
  void (*complete_attributes)(Node& node, std::span<const Value* const> operands,
                              std::span<const ValueType> outputs) = nullptr;
  /// Why a node's operands and results do not go together, as a clause; nullopt: they do, or nobody knows.
  std::optional<std::string> (*misfit)(const Graph& graph, const Node& node) = nullptr;
  /// The name of the operator that writes none of its operands and computes the same; null: there are no
  /// others.
  std::string (*functional_form)(std::string_view op) = nullptr;
  /// What a tool of the format calls the operator where that is another name ("aten::add.Tensor"), "" where
  /// it is not; null: nowhere.
  std::string (*tool_name)(std::string_view op) = nullptr;
  /// Terms of each of `results` elements that a kernel is about to compute, by the shapes at hand, for limits
  /// on work; null: none is counted.
  double (*evaluated_terms)(const KernelCall& call, double results) = nullptr;
  std::span<const KernelGroup> kernels = {};
  bool complex_kernels = false;  ///< all kernels know that a complex element has two lanes
  /// Seconds of this format's kernels for a multiply-add, where compiled ones take 1: budgets divide by it.
  double kernel_slowness = 1;

  // --- graphs
  /// The graphs that a runtime executes, ascending; null: all.
  std::vector<int> (*executed_graphs)(const Model& model) = nullptr;
  /// The value with the lowest id whose size only a run tells; none_id when all sizes are static. A delegate
  /// for static sizes refuses the whole graph for one.
  UnsizedValue (*first_unsized)(const Graph& graph) = nullptr;
  /// A called graph lies inside the node that calls it and leaves the file with it; values have no place of
  /// their own, so that what was written is compared by what flows where.
  bool graphs_inside_nodes = false;
  /// The file is what a compiler made: operators stand in a memory plan, and nothing but scalars is editable.
  bool lowered = false;

  // --- edits
  /// A node of this format that gives `to` the elements of `from`, appended to `patch`; null: there is none.
  void (*copy)(PatchBuilder& patch, ValueId from, ValueId to, const Shape& shape,
               const std::string& name) = nullptr;
  /// The lowest operator version that the node's operands, types and attributes need; null: versions say
  /// nothing here.
  int (*minimal_version)(const Graph& graph, const Node& node) = nullptr;
  /// What follows from all edits together (operator versions), once before a file is written.
  void (*settle)(const Model& before, Model& after) = nullptr;

  /// Values are named by the operator that makes them and a number ("add_5"): the number says nothing.
  bool numbered_names = false;
  /// How somebody who has only a log gets the file: "what torch.export.save(...) writes"; "": it is there.
  std::string_view obtaining = "";
  /// The line of a user's own script that takes up the repaired file; "": a script has no part in it.
  std::string_view reopening = "";

  // --- runtimes
  std::string_view default_target =
      "";                         ///< when neither a flag nor a log names one; "": every backend, as notes
  bool lines_name_nodes = false;  ///< its runtimes' log lines begin with an operator of the graph
};

/// All formats of this build, by the names of their folders.
std::span<const Dialect* const> dialects();
/// Null: no format of this name.
const Dialect* find_dialect(std::string_view name);
/// The format of this name, which must be one of this build (a programming error otherwise).
const Dialect& dialect(std::string_view name);
/// "a, b, c", in the order of the table: for messages.
std::string dialect_names();
/// ".tflite, .pt2 or .pte".
std::string dialect_extensions(std::string_view last_separator);
/// True for the extension (with its dot) of a model format, of this build.
bool is_model_extension(std::string_view extension);

/// The main graph and those that a live node calls, directly or through others, ascending.
std::vector<int> called_graphs(const Model& model);

}  // namespace md
