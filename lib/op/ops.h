// What each format's operators are called and take: operand names, attributes with defaults, enumerations,
// traits. The one place for it: the rule language checks names here, the text form leaves defaults out by it.
// One file a format: lib/format/NAME/operators.cpp. A format without a table (find_op gives null for all) is
// not checked.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/graph/graph.h"

namespace md {

struct EnumSpec {
  std::string name;
  std::vector<std::string> values;  ///< position = number
  std::optional<EnumValue> find(std::string_view value) const;
};

/// What an attribute's number must be, for a model to be well-formed (well_formed.h).
enum class AttributeRole : std::uint8_t {
  free,
  positive,       ///< a stride, a filter's size, a block: something is divided by it
  axis,           ///< of the first operand: in [-rank, rank)
  result_axis,    ///< of the first result
  branch,         ///< a graph that takes the operands behind the first and gives the results
  condition,      ///< a graph that takes the operands and gives one value
  body,           ///< a graph that takes the operands and gives as many
  decomposition,  ///< a graph that takes the operands and gives the results
};

struct AttributeSpec {
  std::string name;
  AttrValue schema_default;  ///< what the file format reads when the field is absent
  AttrValue usual;  ///< what the operator does when nothing is said; differs for SOFTMAX's beta (0 and 1)
  bool ignored =
      false;  ///< repeats what operands or types say, or does not change the result: any value will do
  bool optional =
      false;  ///< a file may leave it out: `usual` holds then, nothing where that is std::monostate
  const EnumSpec* enumeration = nullptr;
  AttributeRole role = AttributeRole::free;
};

/// What an operand must be, parallel to OpSpec::operands.
struct OperandSpec {
  bool optional = false;                 ///< may be absent
  int least_rank = 0, most_rank = 1000;  ///< where its rank is known
  /// The element types that the operator's schema allows in this version; empty: any, or nothing is known.
  /// What is no tensor (a sequence, an optional, a map) is DType::variant.
  std::vector<DType> types{};
  /// Operands and results of one variable ("T") have one type; "": it stands for itself.
  std::string type_variable{};
};
inline constexpr int any_number = 1 << 30;  ///< of results or operands

/// What an operator is, in the fewest words: what proofs, costs and bounds follow from.
enum class Primitive : std::uint8_t {
  opaque,    ///< nothing is known
  map,       ///< a function of one element
  zip,       ///< a function of the elements at one position, operands broadcast
  select,    ///< one of the elements at its position
  reduce,    ///< folds axes, or runs along one
  contract,  ///< sums of products: matrix products
  window,    ///< sums or folds of windows: convolutions, pools, resizing
  move,      ///< every result element is an operand's element, or a constant: which one, shapes and sizes say
  gather,    ///< the same, and index operands say which one
  scatter,   ///< writes elements where index operands say
  sort,
  random,   ///< another result in each run
  control,  ///< runs a graph
  state     ///< reads or writes what outlives a run
};

/// Bounds that hold for every input of the model, inclusive; NaN is not excluded by them.
struct ValueRange {
  double low = -HUGE_VAL, high = HUGE_VAL;
};
/// The range of a value; nullopt: nothing is known, or there is no such value.
using RangeOf = std::function<std::optional<ValueRange>(ValueId value)>;

/// An operand that is an index into, or a mask of, another operand's elements.
struct IndexUse {
  std::size_t operand = 0;
  std::int64_t size = 0;  ///< its numbers are below it; 0: not known
  /// For a mask: how many marks it must have, where the graph fixes the number of rows that it selects;
  /// dynamic_dim: as many as a dynamic dimension has.
  std::optional<std::int64_t> marks{};
};

struct OpSpec {
  std::string name;
  int since = 1;  ///< the version of the operator that this row describes, and the first of its operator set
  bool leaves = false;                ///< from `since` on there is no such operator any more
  std::vector<std::string> operands;  ///< names in order, without '?'
  int required = 0;                   ///< leading operands that must be there
  bool variadic = false;              ///< the last name stands for one or more operands
  bool commutative = false;           ///< the first two operands may be swapped
  Primitive primitive = Primitive::opaque;
  bool unary = false;    ///< elementwise, one operand, same type and shape
  bool binary = false;   ///< elementwise, two operands, numpy broadcasting, same type
  bool compare = false;  ///< as binary, but the result is bool
  bool keeps_kind =
      false;  ///< the first result is a float, an integer, a complex number as its first operand is
  std::vector<OperandSpec> operand_specs;  ///< parallel to `operands`
  /// Of the results in order, the last one for all behind it; empty: nothing is known.
  std::vector<OperandSpec> result_specs;
  int least_operands = 0;                   ///< all, absent ones in between counted
  int least_results = 1, most_results = 1;  ///< absent ones count nowhere but in operators with any number
  std::vector<AttributeSpec> attributes;
  /// What its first result's real numbers can be, given what its operands' can; null: anything.
  std::optional<ValueRange> (*range)(const Node& node, const RangeOf& operand) = nullptr;
  /// Its operands that say where another's elements lie; null: none.
  std::vector<IndexUse> (*indices)(const Graph& graph, const Node& node) = nullptr;
  bool gives_shape = false;  ///< its result is the list of its operand's dimensions
  bool named = false;        ///< `Node::custom` says what it is: a custom operator, a composite
  bool chooses = false;      ///< runs one of the graphs that it calls
  bool restores = false;  ///< gives the real numbers of its first operand, another encoding of the same data
  /// Terms of each sum that it computes; null: 1.
  std::int64_t (*terms)(const Graph& graph, const Node& node) = nullptr;
  /// Of one run; null: one for each result element, none for an operator that moves.
  std::int64_t (*multiply_adds)(const Graph& graph, const Node& node) = nullptr;
  bool writes_operand = false;  ///< its first operand's memory holds the result afterwards
  bool views_operand = false;   ///< its result shares its first operand's memory
  bool keeps_state = false;     ///< what it reads or writes outlives the run, whatever else it computes
  bool only_reads = false;      ///< of an operator with state: it leaves none changed
  const AttributeSpec* find(std::string_view attribute) const;

  /// Every result element is an operand's element or a constant.
  bool moves() const {
    return primitive == Primitive::move || primitive == Primitive::gather || primitive == Primitive::select;
  }
  bool is_elementwise() const {
    return primitive == Primitive::map || primitive == Primitive::zip || primitive == Primitive::select;
  }
  /// Its operands do not decide its results, or may not: nothing to fold, and not the same in another place.
  bool has_state() const {
    return keeps_state || writes_operand || primitive == Primitive::state || primitive == Primitive::random;
  }
  /// A run leaves something behind, or may: it stays also where nobody reads its results.
  bool has_effects() const {
    return writes_operand || (keeps_state && !only_reads) || (primitive == Primitive::state && !only_reads);
  }
};

/// The row of a node's operator and version in its graph's dialect; null: there is none, nothing is known of
/// it.
const OpSpec* row_of(const Graph& graph, const Node& node);
/// The row of the newest version.
const OpSpec* row_of(const Dialect& dialect, std::string_view op);
/// The row that holds in this version of the operator or of its operator set; null: none does.
const OpSpec* row_of(const Dialect& dialect, std::string_view op, int version);
/// The operator's name, with what says which one it is ("CUSTOM Convolution2DTransposeBias").
std::string shown_name(const Graph& graph, const Node& node);
/// The questions that need no row at hand; false for operators without one.
bool is_elementwise(const Graph& graph, const Node& node);
bool has_state(const Graph& graph, const Node& node);
bool writes_operand(const Graph& graph, const Node& node);
/// Also of nodes without results and of those that call graphs.
bool has_effects(const Graph& graph, const Node& node);

/// Whether the format's table is complete: text is held to its names and attributes.
bool has_op_table(const Dialect& dialect);
/// The row that text is held to; null when the format has no complete table or the operator is not in it.
const OpSpec* find_op(const Dialect& dialect, std::string_view op);
/// The same for the node's version.
const OpSpec* find_op(const Dialect& dialect, const Node& node);
/// The version that is meant where a text names none: the newest.
int usual_version(const Dialect& dialect, std::string_view op);
/// The version of an operator in a set of this version ("Relu" of opset 17 is 14); `set` where nothing is
/// known of it, nullopt where the set has no such operator.
std::optional<int> version_in_set(const Dialect& dialect, std::string_view op, int set);
std::vector<std::string> op_names(const Dialect& dialect);

/// The attributes with every known field present: absent ones get their usual value.
Attributes with_defaults(const Dialect& dialect, const Node& node);
/// Equal after both are completed with their defaults, in any order. Ignored attributes are compared too.
bool same_attributes(const Dialect& dialect, const Node& a, const Node& b);
/// The value of an attribute, or its usual value; null when the operator has no such attribute and none is
/// set.
const AttrValue* attribute_or_usual(const Dialect& dialect, const Node& node, std::string_view name);

/// The table of one format; parsed at its first use.
struct OpTable {
  bool complete =
      true;  ///< with operand names and attributes, and all operators; else only with what they are
  /// A node that does not fit its row (operands, results, attributes) makes a file that nobody can read. Else
  /// it is the runtimes' business: a target predicts what they say of it, and a rule may mend it.
  bool strict = true;
  std::vector<EnumSpec> enums;
  std::vector<OpSpec> ops;  ///< ordered by name, then `since`
  /// What the form of a name tells of an operator that is not listed; may be null, and may give null.
  const OpSpec* (*by_form)(std::string_view op) = nullptr;
};

}  // namespace md
