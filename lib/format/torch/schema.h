// Argument names and kinds of aten operators in the order of their schemas: what a reader checks nodes by,
// and a writer needs to turn operands and attributes of a node back into the arguments of a torch.export
// program.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/graph/graph.h"

namespace md {

enum class AtenKind {
  tensor,  ///< Tensor, or a number in its place (add.Tensor with other=2)
  optional_tensor,
  tensors,           ///< Tensor[]: operands "tensors[0]", "tensors[1]"
  optional_tensors,  ///< Tensor?[]: operands "indices[0]", with absent entries
  number,            ///< Scalar, float
  integer,
  flag,
  integers,
  numbers,  ///< float[]
  text,
  scalar_type,
  layout,
  device,
  memory_format,
  other
};

struct AtenArgument {
  std::string_view name;
  AtenKind kind = AtenKind::tensor;
  bool keyword_only = false;
  bool required = false;  ///< it has no default
  bool optional = false;  ///< None will do
};

struct AtenSchema {
  std::string_view op;  ///< "aten.slice.Tensor"
  std::span<const AtenArgument> arguments;
  bool returns_list = false;  ///< one Tensor[] result (split): one as_tensors output
  std::size_t results = 0;    ///< how many values it gives; not known for lists
};

/// The schema of an operator that rules, kernels or tests know; null when it is not in the table.
const AtenSchema* aten_schema(std::string_view op);

/// The table as text: "aten.neg.default(Tensor self) -> Tensor", one line an operator.
std::string_view aten_schema_table();

/// What does not fit the operator's schema, as part of a sentence ("an argument \"dim\" that is an integer"):
/// a required argument that is absent, a tensor where the schema asks for numbers or the other way round.
/// nullopt: it fits, or the operator is not in the table. The node's operands must exist in the graph.
std::optional<std::string> schema_misfit(const Graph& graph, const Node& node);

}  // namespace md
