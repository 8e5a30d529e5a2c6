// Kernels of ONNX's operators: groups by what they do, one a source file. They decode operands and attributes
// in every version's form; the arithmetic is that of lib/eval/primitives.
#pragma once
#include "lib/eval/kernel.h"
#include "lib/op/dialect.h"

namespace md {

/// All of them, for Dialect::kernels.
std::span<const KernelGroup> onnx_kernel_groups();

}  // namespace md
