// Operators that run other graphs, and variables.
#include <array>

#include "lib/format/tflite/kernels.h"

namespace md {
namespace {

Result<std::vector<Tensor>> operands(const KernelCall& call, std::size_t first) {
  std::vector<Tensor> tensors;
  for (std::size_t i = first; i < call.count(); ++i) {
    if (!call.has(i)) return call.bad(fmt::format("operand {} is missing", i));
    tensors.push_back(call.in(i));
  }
  return tensors;
}

Status deliver(KernelCall& call, Result<std::vector<Tensor>> results) {
  if (!results) return tl::make_unexpected(results.error());
  if (results->size() != call.outputs.size())
    return call.bad(
        fmt::format("the called graph gives {} results, {} are read", results->size(), call.outputs.size()));
  call.outputs = std::move(*results);
  return {};
}

Result<bool> condition(const KernelCall& call, const Tensor& tensor) {
  if (tensor.size() != 1 || tensor.store() != Store::u8) return call.bad("the condition is not one bool");
  return tensor.integer(0) != 0;
}

Status branch(KernelCall& call) {
  if (auto ok = call.need(1); !ok) return ok;
  if (call.node.subgraphs.size() != 2) return call.bad("needs two branches");
  const auto chosen = condition(call, call.in(0));
  if (!chosen) return tl::make_unexpected(chosen.error());
  auto inputs = operands(call, 1);
  if (!inputs) return tl::make_unexpected(inputs.error());
  return deliver(call, call.call_graph(call.node.subgraphs[*chosen ? 0 : 1], std::move(*inputs)));
}

Status loop(KernelCall& call) {
  constexpr int limit = 1 << 20;  // rounds; a loop of a real model is far below
  if (call.node.subgraphs.size() != 2) return call.bad("needs a condition and a body");
  auto state = operands(call, 0);
  for (int round = 0; state; ++round) {
    if (round == limit) return call.unsupported("that runs more than a million rounds");
    auto verdict = call.call_graph(call.node.subgraphs[0], *state);
    if (!verdict) return tl::make_unexpected(verdict.error());
    if (verdict->size() != 1) return call.bad("the condition graph does not give one value");
    const auto more = condition(call, (*verdict)[0]);
    if (!more) return tl::make_unexpected(more.error());
    if (!*more) break;
    state = call.call_graph(call.node.subgraphs[1], std::move(*state));
  }
  return deliver(call, std::move(state));
}

Status composite(KernelCall& call) {
  if (call.node.subgraphs.empty())
    return call.unsupported(fmt::format("\"{}\", which has no decomposition", call.node.custom));
  auto inputs = operands(call, 0);
  if (!inputs) return tl::make_unexpected(inputs.error());
  return deliver(call, call.call_graph(call.node.subgraphs[0], std::move(*inputs)));
}

Status call_once(KernelCall& call) {
  if (call.node.subgraphs.empty()) return call.bad("names no graph");
  auto results = call.call_graph(call.node.subgraphs[0], {});
  if (!results) return tl::make_unexpected(results.error());
  return {};
}

/// A resource is a number that stands for its variable: the position of its name in the store.
std::string variable_key(const KernelCall& call) {
  return std::string(call.attrs().text("container")) + "/" + std::string(call.attrs().text("shared_name"));
}

Status var_handle(KernelCall& call) {
  if (!call.variables) return call.unsupported("without a run of the whole model");
  const std::string key = variable_key(call);
  auto& handles = call.variables->handles;
  auto at = std::find(handles.begin(), handles.end(), key);
  if (at == handles.end()) at = handles.insert(handles.end(), key);
  const std::int64_t number = at - handles.begin();
  call.outputs[0] = Tensor::of_integers(DType::i64, {}, std::span(&number, 1));
  return {};
}

Result<std::string> variable_of(const KernelCall& call) {
  if (!call.variables || !call.has(0) || call.in(0).size() != 1)
    return call.bad("the operand is not a variable");
  const auto number = static_cast<std::size_t>(call.in(0).integer(0));
  if (number >= call.variables->handles.size()) return call.bad("the operand is not a variable");
  return call.variables->handles[number];
}

Status read_variable(KernelCall& call) {
  const auto key = variable_of(call);
  if (!key) return tl::make_unexpected(key.error());
  const auto at = call.variables->values.find(*key);
  if (at == call.variables->values.end()) return call.bad("the variable is read before it is assigned");
  call.outputs[0] = at->second;
  return {};
}

Status assign_variable(KernelCall& call) {
  if (auto ok = call.need(2); !ok) return ok;
  const auto key = variable_of(call);
  if (!key) return tl::make_unexpected(key.error());
  call.variables->values[*key] = call.in(1);
  return {};
}

}  // namespace

std::span<const KernelEntry> control_kernels() {
  static const std::array rows = {
      KernelEntry{"IF", branch, 0, true},
      KernelEntry{"WHILE", loop, 0, true},
      KernelEntry{"STABLEHLO_COMPOSITE", composite, 0, true},
      KernelEntry{"CALL_ONCE", call_once, 0, true},
      KernelEntry{"VAR_HANDLE", var_handle, 0, true},
      KernelEntry{"READ_VARIABLE", read_variable, 0, true},
      KernelEntry{"ASSIGN_VARIABLE", assign_variable, 0, true},
  };
  return rows;
}

}  // namespace md
