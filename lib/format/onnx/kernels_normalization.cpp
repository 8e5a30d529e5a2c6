#include "lib/format/onnx/kernels.h"

namespace md {

std::span<const KernelEntry> onnx_normalization_kernels() { return {}; }

}  // namespace md
