#include <cstring>

#include "test/toy/toy.h"

namespace md {
namespace {

constexpr KernelGroup kernel_groups[] = {toy::kernels};

/// A node that a fix made has no version yet.
void settle(const Model&, Model& after) {
  for (Graph& graph : after.graphs)
    for (const NodeId id : graph.order)
      if (Node& node = graph.node(id); node.version == 0) node.version = 1;
}

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
    .settle = settle,
};

}  // namespace md
