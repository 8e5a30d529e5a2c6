#include "lib/format/onnx/kernels.h"

namespace md {

std::span<const KernelEntry> onnx_quantization_kernels() { return {}; }

}  // namespace md
