// Argument names of aten operators in the order of their schemas: what a writer needs to turn operands and
// attributes of a node back into the arguments of a torch.export program.
#pragma once
#include <span>
#include <string_view>

namespace md {

enum class AtenKind {
  tensor,  ///< Tensor, or a number in its place (add.Tensor with other=2)
  optional_tensor,
  tensors,           ///< Tensor[]: operands "tensors[0]", "tensors[1]"
  optional_tensors,  ///< Tensor?[]: operands "indices[0]", with absent entries
  number,
  integer,
  flag,
  integers,
  text,
  scalar_type,
  layout,
  device,
  memory_format
};

struct AtenArgument {
  std::string_view name;
  AtenKind kind = AtenKind::tensor;
  bool keyword_only = false;
};

struct AtenSchema {
  std::string_view op;  ///< "aten.slice.Tensor"
  std::span<const AtenArgument> arguments;
  bool returns_list = false;  ///< one Tensor[] result (split): one as_tensors output
};

/// The schema of an operator that patches may create; null when it is not in the table.
const AtenSchema* aten_schema(std::string_view op);

}  // namespace md
