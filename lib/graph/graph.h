// The one view of a model that rules, targets, proofs and reports read: operators and values in the format's
// own names, with ids that are positions in the file. There is no common intermediate language: a GATHER_ND
// stays a GATHER_ND, an aten.slice.Tensor stays one.
//
// A Graph is a value. Readers build it, edit/apply.h makes a changed copy; everybody else only looks.
// Constants are ranges of the mapped file (or shared owned bytes), so a copy costs what the graph costs,
// never what the weights do.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/mapped_file.h"
#include "lib/graph/attribute.h"
#include "lib/graph/dtype.h"

namespace md {

struct Dialect;  ///< a file format and its operators: lib/op/dialect.h

using ValueId = std::int32_t;  ///< index into Graph::values; -1: an optional operand that is absent
using NodeId = std::int32_t;   ///< index into Graph::nodes
inline constexpr std::int32_t none_id = -1;

using Shape = std::vector<std::int64_t>;  ///< -1: not known before run time
inline constexpr std::int64_t dynamic_dim = -1;

/// Number of elements; nullopt when a dimension is dynamic or the product passes 2^62.
std::optional<std::int64_t> element_count(const Shape& shape);
/// "1x64x64x3"; "scalar" for rank 0; "?" for a dynamic dimension.
std::string shape_text(const Shape& shape);

/// Affine quantization: real = scale * (stored - zero_point), per tensor (one scale) or per channel along
/// `axis`.
struct Quantization {
  std::vector<float> scale;
  std::vector<std::int64_t> zero_point;
  int axis = 0;
  std::vector<float> min, max;  ///< calibration statistics, when the file has them
  bool operator==(const Quantization&) const = default;
};

/// Bytes of a constant in the format's own encoding (row-major, little endian, sub-byte types packed low bits
/// first). `owner` keeps the bytes alive (the mapped file, or a buffer of our own).
struct Constant {
  Bytes bytes;
  std::shared_ptr<const void> owner;
  static Constant own(std::vector<std::uint8_t> bytes);
};

/// How a sparse constant (TFLite SparsityParameters) is stored; the reader fills it, DENSIFY and the writers
/// read it.
struct Sparsity {
  struct Dimension {
    bool sparse = false;
    int dense_size = 0;
    std::vector<std::int32_t> segments, indices;
  };
  std::vector<std::int32_t> traversal_order, block_map;
  std::vector<Dimension> dimensions;
};

struct SourceLocation {
  std::string file;
  int line = 0;
  std::string function;
};

struct Value {
  std::string name;
  DType dtype = DType::unknown;
  Shape shape;
  std::vector<std::string> dim_names;  ///< symbolic dimensions ("s17", "batch"), empty when none has a name
  std::optional<Quantization> quantization;
  std::optional<Constant> constant;  ///< present also for zero-element constants
  std::shared_ptr<const Sparsity> sparsity;
  bool is_variable = false;
  bool unranked = false;  ///< how many dimensions it has is not known either; `shape` is empty then
  /// TFLite: the sizes that hold until the caller resizes an input, when `shape` has dynamic dimensions; else
  /// empty.
  Shape default_shape;
  std::int32_t origin = none_id;  ///< id in the file this graph was read from; none_id: made by a patch
  bool is_constant() const { return constant.has_value(); }
  int rank() const { return static_cast<int>(shape.size()); }
};

struct Node {
  std::string
      op;  ///< "GATHER_ND", "CUSTOM", "STABLEHLO_COMPOSITE"; "Conv"; "aten.slice.Tensor"; "aten::add.out"
  std::string custom;  ///< custom operator's code, composite's name, or ONNX domain
  std::string name;    ///< the node's own name when the format has one
  std::string layer;   ///< module path or layer ("self.attn.q_proj"), when known
  int version = 1;
  std::vector<ValueId> inputs;  ///< none_id: absent optional operand
  std::vector<std::string>
      input_names;  ///< parallel to inputs where the format names its arguments, else empty
  std::vector<ValueId> outputs;
  std::vector<ValueId> intermediates;  ///< TFLite only
  Attributes attrs;
  std::vector<std::int32_t> subgraphs;  ///< graphs this node calls (branches, bodies, decompositions)
  std::vector<SourceLocation> source;   ///< innermost first
  std::int32_t origin = none_id;        ///< id in the file; none_id: made by a patch
  std::vector<std::int32_t> origins;    ///< for a node made by a patch: the file's nodes it came from
};

struct Use {
  NodeId node = none_id;
  int operand = 0;
};

struct Graph {
  const Dialect* dialect = nullptr;  ///< whose operators these are; null: nobody's, nothing is known of them
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;    ///< positions are ids; removed nodes stay as holes that `order` does not list
  std::vector<NodeId> order;  ///< live nodes in execution order
  std::vector<ValueId> inputs, outputs;

  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
  Node& node(NodeId id) { return nodes[static_cast<std::size_t>(id)]; }
  bool is_live(NodeId id) const;

  /// Recomputes producers, uses and the input/output marks. Call after the last change; cost O(graph).
  void index();
  /// After index(): who makes a value (none_id: a graph input, a constant, or nobody) and who reads it.
  NodeId producer(ValueId id) const { return producer_[static_cast<std::size_t>(id)]; }
  std::span<const Use> uses(ValueId id) const;
  bool is_input(ValueId id) const { return input_mark_[static_cast<std::size_t>(id)] != 0; }
  bool is_output(ValueId id) const { return output_mark_[static_cast<std::size_t>(id)] != 0; }

 private:
  std::vector<NodeId> producer_;
  std::vector<Use> uses_;
  std::vector<std::uint32_t> use_start_;
  std::vector<char> input_mark_, output_mark_, live_mark_;
};

/// A named entry point: external names to values. Pins the interface.
struct ModelSignature {
  std::string key;
  int graph = 0;
  std::vector<std::pair<std::string, ValueId>> inputs, outputs;
};

/// Operators by name and version that the file is written against (ONNX's opset_import).
struct OperatorSet {
  std::string domain;  ///< "": the format's own operators
  int version = 0;
  bool operator==(const OperatorSet&) const = default;
};

/// Something that the file says otherwise than this view of it: the reader put it right, so that rules,
/// proofs and reports see a graph in order. The writer leaves the file's bytes as they are until a patch says
/// that the repair is meant (Patch::repairs).
struct Repair {
  std::string kind;  ///< one of the format's words: "node-order", "stale-shape"
  int graph = 0;
  NodeId node = none_id;    ///< where one is meant
  ValueId value = none_id;  ///< where one is meant
  std::string text;         ///< what the file says, as a clause for people
  bool operator==(const Repair&) const = default;
};

struct Model {
  const Dialect* dialect = nullptr;        ///< the format; null only in a model that nobody has read
  int format_version = 0;                  ///< of the container (ONNX's ir_version); 0: it has none
  std::vector<OperatorSet> operator_sets;  ///< in the file's order; empty: versions are the nodes' own
  std::vector<Repair> repairs;             ///< what is in order in this view only, not in the file
  std::string producer;                    ///< what wrote the file, when it says so
  std::vector<Graph> graphs;
  std::vector<ModelSignature> signatures;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< names and short texts worth showing
};

/// Checks ids, single assignment and topological order; the text says what is wrong. For tests and after
/// every patch.
std::optional<std::string> broken_invariant(const Graph& graph);

}  // namespace md
