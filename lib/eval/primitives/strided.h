// Copies between a row-major block and a strided view of another: what every data-moving operator comes down
// to.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/eval/kernel.h"

namespace md {

/// A view of a tensor's elements: element (i, j, ...) is at base + i * step[0] + j * step[1] + ... (in
/// elements).
struct View {
  std::int64_t base = 0;
  Shape dims;
  std::vector<std::int64_t> steps;
};

/// The whole tensor, row-major.
View whole(const Shape& shape);
/// `to` (row-major over view.dims) = the view's elements of `from`. The view must lie inside `from`.
void read_view(const Tensor& from, const View& view, Tensor& to);
/// The view's elements of `to` = `from` (row-major over view.dims).
void write_view(const Tensor& from, Tensor& to, const View& view);
/// Every element of `to` = the one element that `value` points to (element_bytes() bytes).
void fill(Tensor& to, const std::byte* value);

/// Reads an operand that holds sizes, axes or offsets: any integer type. nullopt when absent or not integers.
std::optional<std::vector<std::int64_t>> index_operand(const KernelCall& call, std::size_t i);

/// New output `i` with the data operand's type and quantization where the value agrees (movement keeps
/// types).
Result<Tensor> moved_output(KernelCall& call, std::size_t i, const Tensor& source, Shape shape);

}  // namespace md
