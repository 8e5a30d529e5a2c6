// What an operator's kernel looks like. A group of operators is one source file of its format that ends in a
// function returning its rows; the format's Dialect lists the groups (an explicit list: registration from a
// static library would be dropped by the linker).
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/eval/evaluator.h"

namespace md {

/// State of resource variables, kept for one run.
struct VariableStore {
  std::vector<std::string> handles;                ///< names; a resource tensor holds a position in this list
  std::unordered_map<std::string, Tensor> values;  ///< by name
};

struct KernelCall {
  const Model& model;
  const Graph& graph;
  const Node& node;
  NodeId id;
  const EvaluateOptions& options;
  std::vector<const Tensor*> inputs;  ///< parallel to node.inputs; null: absent optional operand
  std::vector<Tensor> outputs{};      ///< the kernel fills one per node output
  bool carriers = false;   ///< data operands hold 64-bit codes instead of numbers (proofs of data movement)
  double largest_sum = 0;  ///< largest |partial sum|, kept when options.watch_sums
  std::function<Result<std::vector<Tensor>>(int graph, std::vector<Tensor> inputs)> call_graph{};
  VariableStore* variables = nullptr;
  double* work = nullptr;  ///< of the run so far; null: not counted

  const NumericMode& mode() const { return options.mode; }
  bool wide() const { return options.mode.is_f64(); }
  std::size_t count() const { return inputs.size(); }
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i]; }
  const Tensor& in(std::size_t i) const {
    if (!has(i)) fault_operand("operand", i);
    return *inputs[i];
  }
  const Value& out_value(std::size_t i = 0) const {
    if (i >= node.outputs.size() || node.outputs[i] == none_id) fault_operand("result", i);
    return graph.value(node.outputs[i]);
  }
  const Attributes& attrs() const { return node.attrs; }

  /// Error when fewer than `n` operands are present.
  Status need(std::size_t n) const;
  /// New output `i` with the type and quantization of the graph's value; error when it would be too large.
  Result<Tensor> make_output(std::size_t i, Shape shape) const;
  Result<Tensor> make(DType dtype, Shape shape) const;
  /// Output `i` = the elements of `source` under `shape` (shared).
  void forward(std::size_t i, const Tensor& source, Shape shape);
  /// "FULLY_CONNECTED (node 12): " + what
  tl::unexpected<Error> bad(std::string what) const;          ///< operands that do not fit
  tl::unexpected<Error> unsupported(std::string what) const;  ///< well-formed, but no kernel for it
  void watch(double sum) { largest_sum = std::max(largest_sum, std::abs(sum)); }
  std::shared_ptr<const Quantization> out_quantization(std::size_t i = 0) const;
};

using Kernel = Status (*)(KernelCall& call);

struct KernelEntry {
  std::string_view op;
  Kernel run = nullptr;
  /// Bit i: operand i is only moved to the output, never computed with (all_operands: every one). 0:
  /// computes.
  std::uint32_t moved_operands = 0;
  bool complex = false;  ///< knows that a complex element has two lanes (moved operands: always)
  /// Whose operator it is: an operator set's name, the code of a custom operator; "": the format's own.
  std::string_view domain = "";
  int since = 0, before = std::numeric_limits<int>::max();  ///< operator versions [since, before)
};
inline constexpr std::uint32_t all_operands = 0xffffffffu;

/// The kernel of the node's operator, domain and version in the dialect of its graph; nullptr: none.
const KernelEntry* find_kernel(const Graph& graph, const Node& node);
/// The newest kernel of an operator of the format's own domain, for kernels that stand on another's.
const KernelEntry* find_kernel(const Dialect& dialect, std::string_view op);
/// What a message calls the operator: its name, with the code behind where that says what it does.
std::string kernel_name(const Graph& graph, const Node& node);

/// Code of a number in a carrier tensor: negative, one for each bit pattern of `dtype`. Index values are >=
/// 0.
std::int64_t carrier_code(DType dtype, double number);

/// True when the axis is in [-rank, rank); gives the non-negative one.
std::optional<std::size_t> normal_axis(std::int64_t axis, std::size_t rank);
/// Row-major strides in elements.
std::vector<std::int64_t> strides_of(const Shape& shape);
inline std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t p = 1;
  for (const std::int64_t d : dims) p *= d;
  return p;
}

/// A fused activation, on reals, in place.
enum class Activation { none, relu, relu_n1_to_1, relu6, tanh, sign_bit };
template <class T>
void activate(Activation activation, std::span<T> values);

}  // namespace md
