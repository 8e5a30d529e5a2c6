// Matrix products of whole tensors, through the matrix library in the arithmetic of the numeric mode.
#pragma once
#include "lib/eval/kernel.h"

namespace md {

/// [.., m, k] times [.., k, n] with broadcast batches, as a tensor of `dtype`; real, complex or whole
/// numbers. 16-bit results are not rounded yet.
Result<Tensor> batched_product(KernelCall& call, const Tensor& a, const Tensor& b, DType dtype);

/// The same with vectors as matmul takes them: a row on the left, a column on the right.
Result<Tensor> matrix_product(KernelCall& call, const Tensor& a, const Tensor& b, DType dtype);

}  // namespace md
