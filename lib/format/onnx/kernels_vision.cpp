#include "lib/format/onnx/kernels.h"

namespace md {

std::span<const KernelEntry> onnx_vision_kernels() { return {}; }

}  // namespace md
