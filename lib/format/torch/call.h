// What kernels of aten operators share: operands by argument name, torch's rules for types, broadcasting.
// They only decode; the arithmetic is that of lib/eval/primitives.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "lib/eval/kernel.h"
#include "lib/eval/primitives/positions.h"
#include "lib/eval/primitives/strided.h"

namespace md {

/// A tensor, or a number that stands in its place (rank 0; it yields to the types of tensors).
struct AtenInput {
  Tensor tensor;
  bool number = false;
};

/// torch's result type: tensors with axes before tensors of rank 0 before numbers, bool < integers < floats <
/// complex.
DType promoted(std::span<const AtenInput> operands);
inline DType promoted(const AtenInput& a, const AtenInput& b) {
  const AtenInput both[] = {a, b};
  return promoted(both);
}

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
  std::optional<AtenInput> operand_or_number(std::string_view argument) const;
  /// A number argument as the mode holds it (fp16 modes round it); `otherwise` when it is absent or None.
  double number(std::string_view argument, double otherwise = 0) const;
  /// The argument is there and not None.
  bool given(std::string_view argument) const;
  /// One mark a dimension, for the list or number of dimensions in an argument; absent, None or empty: all.
  /// nullopt: a dimension outside the rank.
  std::optional<std::vector<bool>> marked_dims(std::string_view argument, int rank) const;
  /// "size" or "shape" lists; nullopt when one is a symbol.
  std::optional<Shape> sizes(std::string_view argument) const;
  int dim(std::string_view argument, int rank, std::int64_t otherwise = 0) const;  ///< -1: outside
  std::vector<int> dims(std::string_view argument, int rank) const;                ///< empty list: all
  const Attributes& attrs() const { return call.node.attrs; }

  Status bad(std::string what) const { return call.bad(std::move(what)); }
  /// Output i from numbers (two an element for complex types), stored as the graph's type.
  Status give(Shape shape, const std::vector<double>& numbers, std::size_t i = 0) const;
  Status give_integers(Shape shape, const std::vector<std::int64_t>& numbers, std::size_t i = 0) const;
  /// Output i with the elements of `source` cast to the graph's type.
  Status give_cast(const Tensor& source, std::size_t i = 0) const;
  /// Output i: the elements of a view of `source`.
  Status give_view(const Tensor& source, const View& view, std::size_t i = 0) const;
  /// Output i: element k is element from[k] of `source`; -1 gives zero.
  Status move(const Tensor& source, Shape shape, const std::vector<std::int64_t>& from,
              std::size_t i = 0) const;
};

/// Operators that take complex values too: '+', '-', '*', '/' and negation '-', magnitude '|', exponential
/// 'e', square '2', inverse '1'.
Status aten_complex_binary(KernelCall& call, char op);
Status aten_complex_unary(KernelCall& call, char op);

std::span<const KernelEntry> aten_movement_kernels();
std::span<const KernelEntry> aten_parts_kernels();
std::span<const KernelEntry> aten_arithmetic_kernels();
std::span<const KernelEntry> aten_unary_kernels();
std::span<const KernelEntry> aten_logic_kernels();
std::span<const KernelEntry> aten_choice_kernels();
std::span<const KernelEntry> aten_reduction_kernels();
std::span<const KernelEntry> aten_ordering_kernels();
std::span<const KernelEntry> aten_product_kernels();
std::span<const KernelEntry> aten_convolution_kernels();
std::span<const KernelEntry> aten_pooling_kernels();
std::span<const KernelEntry> aten_resample_kernels();
std::span<const KernelEntry> aten_attention_kernels();
std::span<const KernelEntry> aten_norm_kernels();
std::span<const KernelEntry> aten_complex_kernels();
std::span<const KernelEntry> aten_fourier_kernels();
std::span<const KernelEntry> aten_index_kernels();
std::span<const KernelEntry> aten_scatter_kernels();
std::span<const KernelEntry> aten_factory_kernels();
std::span<const KernelEntry> aten_scalar_kernels();
std::span<const KernelEntry> aten_quantized_kernels();
std::span<const KernelEntry> aten_control_kernels();

}  // namespace md
