#include "lib/eval/kernel.h"

namespace md {

std::span<const KernelEntry> sorting_kernels() { return {}; }

}  // namespace md
