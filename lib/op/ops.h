// What each format's operators are called and take: operand names, attributes with defaults, enumerations,
// traits. The one place for it: the rule language checks names here, the text form leaves defaults out by it.
// One file a format: ops_tflite.cpp. A format without a table (find_op gives null for all) is not checked.
#pragma once
#include <cstdint>
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
  const EnumSpec* enumeration = nullptr;
  AttributeRole role = AttributeRole::free;
};

/// What an operand must be, parallel to OpSpec::operands.
struct OperandSpec {
  bool optional = false;                 ///< may be absent
  int least_rank = 0, most_rank = 1000;  ///< where its rank is known
};
inline constexpr int any_number = 1 << 30;  ///< of results or operands

struct OpSpec {
  std::string name;
  std::vector<std::string> operands;  ///< names in order, without '?'
  int required = 0;                   ///< leading operands that must be there
  bool variadic = false;              ///< the last name stands for one or more operands
  bool commutative = false;           ///< the first two operands may be swapped
  bool unary = false;                 ///< elementwise, one operand, same type and shape
  bool binary = false;                ///< elementwise, two operands, numpy broadcasting, same type
  bool compare = false;               ///< as binary, but the result is bool
  bool movement = false;              ///< moves elements, computes none
  bool keeps_kind =
      false;  ///< the first result is a float, an integer, a complex number as its first operand is
  std::vector<OperandSpec> operand_specs;   ///< parallel to `operands`
  int least_operands = 0;                   ///< all, absent ones in between counted
  int least_results = 1, most_results = 1;  ///< absent ones count nowhere but in operators with any number
  std::vector<AttributeSpec> attributes;
  const AttributeSpec* find(std::string_view attribute) const;
};

bool has_op_table(Format format);
/// Null when the format has no table or the operator is not in it.
const OpSpec* find_op(Format format, std::string_view op);
std::vector<std::string> op_names(Format format);

/// The attributes with every known field present: absent ones get their usual value.
Attributes with_defaults(Format format, const Node& node);
/// Equal after both are completed with their defaults, in any order. Ignored attributes are compared too.
bool same_attributes(Format format, const Node& a, const Node& b);
/// The value of an attribute, or its usual value; null when the operator has no such attribute and none is
/// set.
const AttrValue* attribute_or_usual(Format format, const Node& node, std::string_view name);

/// "f32" as TFLite's TensorType enumeration value {0, "FLOAT32"}; nullopt when TFLite has no such type.
std::optional<EnumValue> tflite_tensor_type(DType dtype);
std::optional<DType> dtype_of_tflite(std::int64_t tensor_type);

/// The table of one format; parsed at its first use.
struct OpTable {
  std::vector<EnumSpec> enums;
  std::vector<OpSpec> ops;  ///< ordered by name
};
const OpTable& tflite_ops();

}  // namespace md
