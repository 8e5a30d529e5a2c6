// One step of the evaluator: gathers a node's operands, runs its kernel, rounds what it gave. For the
// evaluator itself and for proofs, which drive single nodes.
#pragma once
#include <vector>

#include "lib/eval/kernel.h"

namespace md {

struct NodeRun {
  std::vector<Tensor> outputs;
  double largest_sum = 0;
};

/// Runs the kernel alone. What a model that nobody checked still breaks in it (types, lanes, missing results,
/// sizes past the memory) becomes an Error that names the operator.
Status guarded(const KernelEntry& entry, KernelCall& call);
/// Runs the kernel of a prepared call and rounds its outputs as the mode asks.
Result<NodeRun> finish_node(const KernelEntry& entry, KernelCall& call);

/// `operands` parallel to the node's inputs (null: absent). `variables` may be null when the model has none.
Result<NodeRun> run_node(const Model& model, const Graph& graph, NodeId id,
                         std::vector<const Tensor*> operands, const EvaluateOptions& options,
                         VariableStore* variables = nullptr, bool carriers = false);

/// A constant as the mode sees it (rounded to fp16, or widened to double).
Result<Tensor> load_constant(const Value& value, const NumericMode& mode);
/// A runtime tensor as the mode sees it.
Tensor in_mode(const Tensor& tensor, const NumericMode& mode);

}  // namespace md
