// Constant folding: what a node computes when everything that it reads is constant.
#pragma once
#include "lib/eval/evaluator.h"

namespace md {

/// Evaluates `value` from constants alone: constants are taken as they are, nodes are run (as the CPU kernels
/// compute: float arithmetic in float). Errors: it depends on a graph input or a variable; no kernel; larger
/// than `max_bytes`.
Result<Tensor> fold_value(const Model& model, int graph_index, ValueId value,
                          std::int64_t max_bytes = std::int64_t{256} << 20);

/// True when a node's result is not decided by its operands: it calls other graphs, reads a state, or is
/// random.
bool depends_on_state(const Graph& graph, const Node& node);

/// True when nothing that `value` depends on is known only at run time; an absent operand (none_id) depends
/// on nothing. Cheap: looks at the graph, computes nothing.
bool depends_on_constants_only(const Graph& graph, ValueId value);

/// A tensor as a value of the model: constant bytes in the encoding of its type, shape, quantization.
Value constant_value(std::string name, const Tensor& tensor);

}  // namespace md
