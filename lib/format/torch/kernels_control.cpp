// Kernels of aten nodes that call graphs, or only check.
#include "lib/format/torch/call.h"

namespace md {
namespace {

Status run_graph(KernelCall& call, std::size_t which, std::size_t first) {
  if (which >= call.node.subgraphs.size() || !call.call_graph) return call.unsupported("with these graphs");
  std::vector<Tensor> inputs;
  for (std::size_t i = first; i < call.count(); ++i) {
    if (!call.has(i)) return call.unsupported("with an absent operand");
    inputs.push_back(call.in(i));
  }
  auto results = call.call_graph(call.node.subgraphs[which], std::move(inputs));
  if (!results) return tl::make_unexpected(results.error());
  if (results->size() != call.outputs.size())
    return call.bad("another number of results than its graph gives");
  call.outputs = std::move(*results);
  return {};
}

/// The body of a region that only switches autocast or gradients: what it computes is in the types of its
/// values.
Status region(KernelCall& call) {
  if (call.node.subgraphs.size() != 1) return call.unsupported("with these graphs");
  return run_graph(call, 0, 0);
}

/// cond: the first graph where the first operand holds, else the second.
Status cond(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  if (call.node.subgraphs.size() != 2 || call.in(0).size() != 1)
    return call.unsupported("with these operands");
  return run_graph(call, call.in(0).number(0) != 0 ? 0 : 1, 1);
}

Status nothing(KernelCall&) { return {}; }

constexpr KernelEntry entries[] = {
    {"higher_order.wrap_with_autocast", region},
    {"higher_order.wrap_with_set_grad_enabled", region},
    {"higher_order.cond", cond},
    {"buffer_mutation", nothing},
    {"aten._assert_tensor_metadata.default", nothing},
    {"aten._assert_scalar.default", nothing},
    {"aten.sym_constrain_range.default", nothing},
    {"aten.sym_constrain_range_for_size.default", nothing},
};

}  // namespace

std::span<const KernelEntry> aten_control_kernels() { return entries; }

}  // namespace md
