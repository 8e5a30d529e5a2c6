// What kernels of aten operators share: operands by argument name, numbers in double, broadcasting.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "lib/eval/kernel.h"

namespace md {

class AtenCall {
 public:
  explicit AtenCall(KernelCall& of) : call(of) {}

  KernelCall& call;

  /// The operand of an argument; null when it is absent or given as a number.
  const Tensor* operand(std::string_view argument) const;
  std::vector<const Tensor*> operands(std::string_view argument) const;
  /// First tensor operand, whatever its name.
  const Tensor* first() const;
  /// A tensor operand, or a number in its place as a tensor of rank 0.
  std::optional<Tensor> value(std::string_view argument) const;
  /// "size" or "shape" lists; nullopt when one is a symbol.
  std::optional<Shape> sizes(std::string_view argument) const;
  int dim(std::string_view argument, int rank, std::int64_t otherwise = 0) const;  ///< -1: outside
  std::vector<int> dims(std::string_view argument, int rank) const;                ///< empty list: all
  const Attributes& attrs() const { return call.node.attrs; }

  Status bad(std::string what) const { return call.bad(std::move(what)); }
  /// Output i from numbers (two an element for complex types), stored as the graph's type.
  Status give(Shape shape, const std::vector<double>& numbers, std::size_t i = 0) const;
  Status give_integers(Shape shape, const std::vector<std::int64_t>& numbers, std::size_t i = 0) const;
  /// Output i: element k is element from[k] of `source`; -1 gives zero.
  Status move(const Tensor& source, Shape shape, const std::vector<std::int64_t>& from,
              std::size_t i = 0) const;
};

/// numpy's rule for any number of shapes; nullopt when they do not fit.
std::optional<Shape> aten_broadcast(const std::vector<Shape>& shapes);
/// For every element of `shape` the flat position in a tensor of `from`, which is broadcast to it.
std::vector<std::int64_t> broadcast_positions(const Shape& from, const Shape& shape);
/// For every element of `shape`, f(index) with its multi-index.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t k = 0; k < count; ++k) {
    f(index);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

/// Operators that take complex values too: '+', '-', '*', '/' and negation '-', magnitude '|', exponential
/// 'e', square '2', inverse '1'.
Status aten_complex_binary(KernelCall& call, char op);
Status aten_complex_unary(KernelCall& call, char op);

std::span<const KernelEntry> aten_movement_kernels();
std::span<const KernelEntry> aten_elementwise_kernels();
std::span<const KernelEntry> aten_reduction_kernels();
std::span<const KernelEntry> aten_contraction_kernels();
std::span<const KernelEntry> aten_complex_kernels();
std::span<const KernelEntry> aten_index_kernels();
std::span<const KernelEntry> aten_factory_kernels();
std::span<const KernelEntry> aten_quantized_kernels();
std::span<const KernelEntry> aten_network_kernels();

}  // namespace md
