#include "lib/format/onnx/kernels.h"

namespace md {

std::span<const KernelEntry> onnx_gathering_kernels() { return {}; }

}  // namespace md
