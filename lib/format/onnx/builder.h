// Writes ONNX operators into a patch, in the form that the file's operator set asks for (axes as an attribute
// or an operand, bounds of Clip, sizes of Split, ...): each call adds one operator and returns the value that
// it makes, with the type and shape that the operator gives it. `into` names an existing value to write
// instead of a new one. Operators of version sets that lack them (Where before 9, Expand before 8) are the
// caller's business: has() tells.
#pragma once
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/edit/builder.h"

namespace md {

/// The version of a domain ("" : the default one) that the file imports; 0: none.
int onnx_set_version(const Model& model, std::string_view domain = "");

class OnnxBuilder {
 public:
  /// `set`: the version of the default domain that the patched file is written against.
  OnnxBuilder(PatchBuilder& patch, int set) : patch_(patch), set_(set) {}

  using Numbers = std::vector<std::int64_t>;

  int set() const { return set_; }
  /// Whether the file's set has the operator.
  bool has(std::string_view op) const;

  /// Any operator of the default domain ("Relu") or of another ("com.microsoft.Gelu"), one result. The type
  /// is inferred; where it does not follow, that of the first operand.
  ValueId add(const std::string& op, std::vector<ValueId> operands, Attributes attrs = {},
              ValueId into = none_id);
  std::vector<ValueId> add_several(const std::string& op, std::vector<ValueId> operands, Attributes attrs,
                                   std::size_t results);

  // Moves.
  ValueId reshape(ValueId x, const Shape& shape, ValueId into = none_id);
  /// By a computed shape (an int64 value of rank 1; opset 5).
  ValueId reshape_by(ValueId x, ValueId shape, ValueId into = none_id);
  ValueId transpose(ValueId x, Numbers permutation, ValueId into = none_id);
  ValueId squeeze(ValueId x, Numbers axes, ValueId into = none_id);
  ValueId unsqueeze(ValueId x, Numbers axes, ValueId into = none_id);
  /// Steps other than 1 need opset 10.
  ValueId slice(ValueId x, Numbers starts, Numbers ends, Numbers axes, Numbers steps = {},
                ValueId into = none_id);
  ValueId concat(std::vector<ValueId> parts, std::int64_t axis, ValueId into = none_id);
  std::vector<ValueId> split(ValueId x, Numbers sizes, std::int64_t axis);
  ValueId gather(ValueId x, ValueId indices, std::int64_t axis, ValueId into = none_id);
  ValueId expand(ValueId x, const Shape& shape, ValueId into = none_id);
  ValueId tile(ValueId x, Numbers repeats, ValueId into = none_id);
  /// `pads`: all in front, then all behind. Modes: "constant", "reflect", "edge".
  ValueId pad(ValueId x, Numbers pads, double value = 0, const std::string& mode = "constant",
              ValueId into = none_id);
  ValueId identity(ValueId x, ValueId into = none_id) { return add("Identity", {x}, {}, into); }

  // Arithmetic.
  ValueId cast(ValueId x, DType dtype, ValueId into = none_id);
  ValueId clip(ValueId x, std::optional<double> low, std::optional<double> high, ValueId into = none_id);
  ValueId unary(const std::string& op, ValueId x, ValueId into = none_id) { return add(op, {x}, {}, into); }
  ValueId binary(const std::string& op, ValueId a, ValueId b, ValueId into = none_id) {
    return add(op, {a, b}, {}, into);
  }
  ValueId where(ValueId condition, ValueId a, ValueId b, ValueId into = none_id) {
    return add("Where", {condition, a, b}, {}, into);
  }
  ValueId matmul(ValueId a, ValueId b, ValueId into = none_id) { return add("MatMul", {a, b}, {}, into); }
  /// "ReduceSum", "ReduceMean", ...; no axes: all.
  ValueId reduce(const std::string& op, ValueId x, Numbers axes, bool keep, ValueId into = none_id);
  /// Along one axis in every opset (before 13 the operator takes all axes from its own on: the axis is moved
  /// to the end and back). `op`: "Softmax", "LogSoftmax", "Hardmax".
  ValueId softmax(ValueId x, std::int64_t axis, ValueId into = none_id, const std::string& op = "Softmax");
  ValueId shape_of(ValueId x) { return add("Shape", {x}); }

  // Constants. Equal lists and numbers are made once.
  ValueId int64s(Numbers numbers);        ///< of rank 1
  ValueId int64(std::int64_t number);     ///< of rank 0
  ValueId number(DType dtype, double v);  ///< of rank 0
  ValueId constant(const std::string& name, DType dtype, Shape shape, std::span<const double> values) {
    return patch_.add_constant(name, dtype, std::move(shape), values);
  }

  /// A node with the operator, attributes, domain and version of `like` on other operands.
  void copy_node(const Node& like, std::vector<ValueId> operands, std::vector<ValueId> results);

  const Shape& shape(ValueId id) const { return patch_.value(id).shape; }
  DType dtype(ValueId id) const { return patch_.value(id).dtype; }
  PatchBuilder& patch() { return patch_; }

 private:
  bool axes_are_operands(std::string_view op) const;
  ValueId with_axes(const std::string& op, ValueId x, Numbers axes, Attributes attrs, ValueId into);

  PatchBuilder& patch_;
  int set_;
  std::map<Numbers, ValueId> lists_;
  std::map<std::pair<DType, double>, ValueId> numbers_;
  std::map<std::int64_t, ValueId> int64_;
};

}  // namespace md
