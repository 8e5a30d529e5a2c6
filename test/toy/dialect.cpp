#include <cstring>

#include "test/toy/toy.h"

namespace md {
namespace {

constexpr KernelGroup kernel_groups[] = {toy::kernels};

bool recognizes(Bytes file) { return file.size() >= 4 && std::memcmp(file.data(), "TOYF", 4) == 0; }

}  // namespace

constinit const Dialect dialect_toy = {
    .name = "toy",
    .extension = ".toy",
    .recognizes = recognizes,
    .open = toy::open,
    .operators = toy::operators,
    .infer = toy::infer,
    .kernels = kernel_groups,
};

}  // namespace md
