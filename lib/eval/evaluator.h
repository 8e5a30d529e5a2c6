// The reference evaluator: computes a graph, or a part of one, on given inputs. One table of kernels by
// operator name (kernel.h); shapes follow from the actual inputs, so that a graph can be run at other sizes
// than it was written for.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/base/result.h"
#include "lib/eval/tensor.h"
#include "lib/graph/graph.h"

namespace md {

/// How floating-point work is carried out.
enum class Arithmetic {
  f32,
  f64,             ///< the judge: every float is computed in double
  f16_storage,     ///< values rounded to fp16 after each operator, sums kept in fp32
  f16_accumulate,  ///< sums in fp16 too, one term after the other
  f16_tree         ///< sums in fp16, pairwise
};
struct NumericMode {
  Arithmetic arithmetic = Arithmetic::f32;
  bool saturate = false;  ///< fp16 overflow gives 65504 instead of infinity
  bool wide_mean = true;  ///< MEAN keeps its sum in fp32 (measured on the WebGPU accelerator; SUM does not)
  bool is_f64() const { return arithmetic == Arithmetic::f64; }
  bool is_f16() const { return arithmetic >= Arithmetic::f16_storage; }
  bool sums_in_f16() const { return arithmetic >= Arithmetic::f16_accumulate; }
};

/// Nearest fp16 value; past the largest finite one (65504) infinity, or 65504 when `saturate`.
float round_to_f16(float value, bool saturate);

/// Called after every node with each of its outputs; `largest_partial_sum` is the largest |partial sum|
/// inside the node's reductions (0 when it has none, or when EvaluateOptions::watch_sums is off).
using Observer = std::function<void(const Graph& graph, NodeId node, int output, const Tensor& tensor,
                                    double largest_partial_sum)>;

struct EvaluateOptions {
  NumericMode mode;
  std::int64_t max_bytes = 0;  ///< of one tensor, and of all live tensors; 0: by the model (limits.h)
  double max_work = 0;         ///< of one run, in the units of limits.h; 0: by the model
  double* work = nullptr;      ///< what a run took is added here, when asked for
  bool watch_sums = false;
  Observer observe;
};

using TensorMap = std::unordered_map<ValueId, Tensor>;

/// Runs a whole graph; `inputs` in the order of Graph::inputs. Returns Graph::outputs in order.
/// Errors: kind unsupported, "no kernel for OP (node 12)" when the table lacks one; kind input for tensors
/// that do not fit each other or sizes past the limit.
Result<std::vector<Tensor>> evaluate(const Model& model, int graph_index, std::span<const Tensor> inputs,
                                     const EvaluateOptions& options = {});

/// Runs some nodes of a graph, given in execution order. `known` holds every value read from outside
/// (constants need not be there). Returns the tensors of `wanted` (constants may be wanted too).
Result<TensorMap> evaluate_nodes(const Model& model, int graph_index, std::span<const NodeId> nodes,
                                 TensorMap known, std::span<const ValueId> wanted,
                                 const EvaluateOptions& options = {});

/// Names of operators in the model that have no kernel, each once.
std::vector<std::string> missing_kernels(const Model& model);

}  // namespace md
