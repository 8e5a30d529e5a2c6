// Kernels of ONNX's operators: groups by what they do, one a source file. They decode operands and attributes
// in every version's form; the arithmetic is that of lib/eval/primitives.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "lib/eval/kernel.h"
#include "lib/op/dialect.h"

namespace md {

std::span<const KernelEntry> onnx_unary_kernels();
std::span<const KernelEntry> onnx_binary_kernels();
std::span<const KernelEntry> onnx_movement_kernels();
std::span<const KernelEntry> onnx_gathering_kernels();
std::span<const KernelEntry> onnx_shape_kernels();
std::span<const KernelEntry> onnx_reduction_kernels();
std::span<const KernelEntry> onnx_ordering_kernels();
std::span<const KernelEntry> onnx_product_kernels();
std::span<const KernelEntry> onnx_convolution_kernels();
std::span<const KernelEntry> onnx_pooling_kernels();
std::span<const KernelEntry> onnx_resize_kernels();
std::span<const KernelEntry> onnx_normalization_kernels();
std::span<const KernelEntry> onnx_quantization_kernels();
std::span<const KernelEntry> onnx_recurrent_kernels();
std::span<const KernelEntry> onnx_attention_kernels();
std::span<const KernelEntry> onnx_state_kernels();
std::span<const KernelEntry> onnx_control_kernels();
std::span<const KernelEntry> onnx_microsoft_kernels();
std::span<const KernelEntry> onnx_signal_kernels();
std::span<const KernelEntry> onnx_vision_kernels();

/// All of them, for Dialect::kernels.
inline constexpr KernelGroup onnx_kernel_groups[] = {
    onnx_unary_kernels,        onnx_binary_kernels,    onnx_movement_kernels,  onnx_gathering_kernels,
    onnx_shape_kernels,        onnx_reduction_kernels, onnx_ordering_kernels,  onnx_product_kernels,
    onnx_convolution_kernels,  onnx_pooling_kernels,   onnx_resize_kernels,    onnx_normalization_kernels,
    onnx_quantization_kernels, onnx_recurrent_kernels, onnx_attention_kernels, onnx_state_kernels,
    onnx_control_kernels,      onnx_signal_kernels,    onnx_vision_kernels,    onnx_microsoft_kernels,
};

}  // namespace md
