// ONNX Runtime's look-up of a CPU kernel for a node: by operator, version of the operator and element types.
#include <algorithm>

#include <fmt/format.h>

#include "lib/runtime/onnxruntime/kernel_registry.h"
#include "lib/runtime/onnxruntime/onnx_types.h"

namespace md {
namespace {

using Result_ = std::optional<Fault>;

struct Argument {
  std::string_view variable, name;
  char letter = '\0';
};

/// Operands and results of known types; of a variadic one the first.
std::vector<Argument> arguments_of(const CheckContext& c, const OpSpec& row) {
  std::vector<Argument> arguments;
  const Graph& graph = c.view.graph();
  const std::size_t operands = std::min(listed_operands(c.node), row.operands.size());
  for (std::size_t i = 0; i < operands; ++i)
    if (const OperandSpec* spec = operand_spec(row, i); spec && c.node.inputs[i] >= 0)
      arguments.push_back(
          {spec->type_variable, row.operands[i], onnx_type_letter(graph.value(c.node.inputs[i]).dtype)});
  const std::size_t results = std::min(c.node.outputs.size(), row.result_specs.size());
  for (std::size_t i = 0; i < results; ++i)
    if (c.node.outputs[i] >= 0)
      arguments.push_back(
          {row.result_specs[i].type_variable, "", onnx_type_letter(graph.value(c.node.outputs[i]).dtype)});
  return arguments;
}

bool takes(const CpuKernel& kernel, const std::vector<Argument>& arguments, bool half_as_float) {
  for (const auto& [name, letters] : kernel.types)
    for (const Argument& argument : arguments) {
      if (argument.letter == '\0' || (argument.variable != name && argument.name != name)) continue;
      const char letter = half_as_float && argument.letter == 'h' ? 'f' : argument.letter;
      if (letters.find(letter) == std::string::npos) return false;
    }
  return true;
}

/// A half operand is cast to float where the CPU has no kernel for half.
bool has_half_operand(const CheckContext& c) {
  const Graph& graph = c.view.graph();
  for (std::size_t i = 0; i < listed_operands(c.node); ++i)
    if (c.node.inputs[i] >= 0 && graph.value(c.node.inputs[i]).dtype == DType::f16) return true;
  return false;
}

Fault missing(const CheckSpec& spec, std::string_view op, std::string_view node) {
  return {filled(spec.text("text"), {{"op", std::string(op)}, {"node", std::string(node)}}), none_id};
}

Result_ cpu_kernel(const CheckContext& c, const CheckSpec& spec) {
  const OpSpec* row = row_of(c.view.graph(), c.node);
  if (!row || is_function_body(c)) return {};
  const KernelRegistry& registry = cpu_kernels();
  const unsigned release = registry.bit(c.version);
  const std::vector<Argument> arguments = arguments_of(c, *row);
  if (const auto found = registry.kernels.find(c.node.op); found != registry.kernels.end())
    for (const CpuKernel& kernel : found->second) {
      if (!(kernel.releases & release) || c.node.version < kernel.first || c.node.version > kernel.last)
        continue;
      if (takes(kernel, arguments, false) || (has_half_operand(c) && takes(kernel, arguments, true)))
        return {};
    }
  if (const auto found = registry.functions.find(c.node.op); found != registry.functions.end())
    for (const CpuFunction& function : found->second) {
      if (!(function.releases & release) || c.node.version != function.version) continue;
      const char letter = arguments.empty() ? '\0' : arguments.front().letter;
      for (const auto& [refused, inner] : function.refused)
        if (refused == letter) return missing(spec, inner, "");
      return {};
    }
  return missing(spec, fmt::format("{}({})", name_in_domain(c.node), c.node.version), c.node.name);
}

}  // namespace

const std::vector<CheckEntry>& onnx_kernel_checks() {
  static const std::vector<CheckEntry> checks = {{"cpu kernel", cpu_kernel}};
  return checks;
}

}  // namespace md
