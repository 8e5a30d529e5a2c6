// The groups of TFLite's kernels, one a source file.
#pragma once
#include <span>

#include <optional>

#include "lib/eval/kernel.h"

namespace md {

/// What the attribute fused_activation_function says; nullopt: no word of the format.
std::optional<Activation> fused_activation(const Attributes& attrs);
/// Terms of each of `results` elements, for the operators whose terms are not just the operand's elements
/// (see Dialect::evaluated_terms).
double evaluated_terms(const KernelCall& call, double results);

std::span<const KernelEntry> unary_kernels();
std::span<const KernelEntry> binary_kernels();
std::span<const KernelEntry> logic_kernels();
std::span<const KernelEntry> movement_kernels();
std::span<const KernelEntry> padding_kernels();
std::span<const KernelEntry> slicing_kernels();
std::span<const KernelEntry> gathering_kernels();
std::span<const KernelEntry> reduction_kernels();
std::span<const KernelEntry> matmul_kernels();
std::span<const KernelEntry> convolution_kernels();
std::span<const KernelEntry> depthwise_kernels();
std::span<const KernelEntry> transpose_conv_kernels();
std::span<const KernelEntry> pooling_kernels();
std::span<const KernelEntry> normalization_kernels();
std::span<const KernelEntry> shape_kernels();
std::span<const KernelEntry> quantization_kernels();
std::span<const KernelEntry> resize_kernels();
std::span<const KernelEntry> sorting_kernels();
std::span<const KernelEntry> control_kernels();
std::span<const KernelEntry> spectral_kernels();
std::span<const KernelEntry> recurrent_kernels();
std::span<const KernelEntry> stablehlo_kernels();
std::span<const KernelEntry> bit_kernels();
std::span<const KernelEntry> stablehlo_indexed_kernels();

}  // namespace md
