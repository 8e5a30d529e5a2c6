// Builds patches of aten nodes: named operands, shapes of results worked out, symbolic dimensions carried
// along.
#pragma once
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "lib/edit/builder.h"

namespace md {

struct AtenOperand {
  std::string name;
  ValueId value = none_id;
};

class AtenBuilder : public PatchBuilder {
 public:
  using PatchBuilder::PatchBuilder;

  /// A node whose result is a new value of this type; returns the value.
  ValueId make(std::string op, std::vector<AtenOperand> operands, Attributes attrs, DType dtype, Shape shape,
               std::string hint = "");
  /// A node that writes `out`, an existing value or one made before.
  void write(std::string op, std::vector<AtenOperand> operands, Attributes attrs, ValueId out);
  /// When set, the next node made by `binary`, `unary`, ... writes this value instead of a new one.
  void result_into(ValueId out) { into_ = out; }

  ValueId unary(const std::string& op, ValueId x);              ///< "aten.neg.default": type of x
  ValueId binary(const std::string& op, ValueId a, ValueId b);  ///< broadcast, type of the higher operand
  ValueId scalar(const std::string& op, ValueId x, AttrValue other, std::string argument = "other");
  ValueId reshape(ValueId x, Shape shape);
  ValueId slice(ValueId x, int dim, std::int64_t start, std::int64_t end);
  ValueId select(ValueId x, int dim, std::int64_t index);
  ValueId unsqueeze(ValueId x, int dim);
  ValueId flip(ValueId x, int dim);
  ValueId cat(const std::vector<ValueId>& parts, int dim);
  ValueId stack(const std::vector<ValueId>& parts, int dim);
  ValueId transpose(ValueId x, int a, int b);
  ValueId sum(ValueId x, int dim, DType dtype);
  ValueId to(ValueId x, DType dtype);
  ValueId arange(std::int64_t count, DType dtype);
  ValueId matmul(ValueId a, ValueId b);

  /// Removes a node by letting its readers read `source` instead. When the node's result leaves the graph,
  /// the maker of `source` writes that result itself, or a clone does.
  void bypass(NodeId node, ValueId result, ValueId source);
  /// Every reader of `value` in the graph reads `with` instead, except nodes that the patch removes.
  void replace_uses(ValueId value, ValueId with);

  Shape shape(ValueId id) const { return value(id).shape; }
  int rank(ValueId id) const { return value(id).rank(); }
  DType dtype(ValueId id) const { return value(id).dtype; }

 private:
  ValueId finish(std::string op, std::vector<AtenOperand> operands, Attributes attrs, DType dtype,
                 Shape shape);
  ValueId into_ = none_id;
};

/// {number, name} of torch's ScalarType for dtype arguments.
EnumValue aten_scalar_type(DType dtype);

}  // namespace md
