// Writes TFLite operators into a patch: each call adds one operator and returns the value that it makes, with
// the type, shape and quantization that the operator gives it. `into` names an existing value to write
// instead of a new one.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/edit/builder.h"
#include "lib/graph/strided_view.h"
#include "lib/op/infer.h"

namespace md {

class TfliteBuilder {
 public:
  explicit TfliteBuilder(PatchBuilder& patch) : patch_(patch) {}

  using Numbers = std::span<const std::int64_t>;

  // Moves: the result has the operand's type and quantization.
  ValueId reshape(ValueId x, const Shape& shape, ValueId into = none_id);
  ValueId transpose(ValueId x, Numbers permutation, ValueId into = none_id);
  ValueId slice(ValueId x, Numbers begin, Numbers size, ValueId into = none_id);
  ValueId strided_slice(ValueId x, Numbers begin, Numbers end, Numbers strides, ValueId into = none_id);
  ValueId tile(ValueId x, Numbers multiples, ValueId into = none_id);
  /// TILE, or CONCATENATION for types that the accelerator does not tile.
  ValueId repeat(ValueId x, Numbers multiples, ValueId into = none_id);
  ValueId concatenation(const std::vector<ValueId>& parts, int axis, ValueId into = none_id);
  /// Rows `indices` (a 1-D int32 value) of one axis.
  ValueId gather(ValueId x, ValueId indices, int axis, ValueId into = none_id);
  /// Mirrors without repeating the border; `paddings` is (before, after) for every axis.
  ValueId mirror_pad(ValueId x, Numbers paddings, ValueId into = none_id);
  ValueId cast(ValueId x, DType dtype, ValueId into = none_id);

  /// x (..., k) times the transpose of weights (n, k), plus bias (n) when it is not none_id.
  ValueId fully_connected(ValueId x, ValueId weights, ValueId bias, ValueId into = none_id);
  ValueId batch_matmul(ValueId x, ValueId y, bool adjoint_x, bool adjoint_y, ValueId into = none_id);

  ValueId unary(const std::string& op, ValueId x, ValueId into = none_id);
  /// Element by element with broadcasting; the result has x's type.
  ValueId binary(const std::string& op, ValueId x, ValueId y, ValueId into = none_id);
  /// SUM, MEAN, REDUCE_MAX, ...; the axes stay with size 1.
  ValueId reduce(const std::string& op, ValueId x, Numbers axes, ValueId into = none_id);

  /// A node with the operator and attributes of `like` on other operands.
  void copy_node(const Node& like, std::vector<ValueId> inputs, std::vector<ValueId> outputs);

  /// A new value with the type and quantization of `type`.
  ValueId value_like(ValueId type, const Shape& shape);
  /// A 1-D int32 constant; equal lists are made once.
  ValueId int32s(Numbers numbers);
  ValueId floats(const std::string& name, const Shape& shape, std::span<const double> values,
                 DType dtype = DType::f32);

  /// Rebuilds a view of x with shape `result`: operators for a runtime value, new bytes for a constant.
  /// none_id: not possible.
  ValueId move(ValueId x, const StridedView& view, const Shape& result, ValueId into = none_id);

  const Shape& shape(ValueId id) const { return patch_.value(id).shape; }
  PatchBuilder& patch() { return patch_; }

 private:
  ValueId target(ValueId x, const Shape& shape, ValueId into) {
    return into != none_id ? into : value_like(x, shape);
  }
  ValueId constant_view(ValueId x, const StridedView& view, const Shape& result);

  PatchBuilder& patch_;
  std::map<std::vector<std::int64_t>, ValueId> int32s_;
};

}  // namespace md
