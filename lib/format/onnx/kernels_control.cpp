#include "lib/format/onnx/kernels.h"

namespace md {

std::span<const KernelEntry> onnx_control_kernels() { return {}; }

}  // namespace md
