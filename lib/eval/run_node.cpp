#include "lib/eval/run_node.h"

#include <fmt/format.h>

#include <cstring>
#include "lib/eval/node_place.h"

namespace md {
namespace {

constexpr float largest_half = 65504.0f;

void round_in_place(Tensor& tensor, bool saturate) {
  for (float& v : tensor.mutable_data<float>()) v = round_to_f16(v, saturate);
}

/// Tensors of a 16-bit type hold what that type can hold, in every mode but the judge's.
void round_to_type(Tensor& tensor, const NumericMode& mode) {
  if (tensor.store() != Store::f32 || !tensor.writable()) return;
  if (mode.is_f16() || tensor.dtype == DType::f16)
    round_in_place(tensor, mode.is_f16() && mode.saturate);
  else if (tensor.dtype == DType::bf16)
    for (float& v : tensor.mutable_data<float>()) v = bfloat_to_float(float_to_bfloat(v));
}

}  // namespace

float round_to_f16(float value, bool saturate) {
  const float rounded = half_to_float(float_to_half(value));
  if (!saturate || !std::isinf(rounded)) return rounded;
  return std::copysign(largest_half, value);
}

Tensor in_mode(const Tensor& tensor, const NumericMode& mode) {
  if (!tensor.is_float()) return tensor;
  Tensor t = tensor.widened(mode.is_f64());
  if (!mode.is_f16() || t.store() != Store::f32) return t;
  Tensor rounded = Tensor::make(t.dtype, t.shape);
  rounded.quantization = t.quantization;
  const auto from = t.data<float>();
  auto to = rounded.mutable_data<float>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = round_to_f16(from[i], mode.saturate);
  return rounded;
}

Result<Tensor> load_constant(const Value& value, const NumericMode& mode) {
  auto tensor = Tensor::constant(value, mode.is_f64());
  if (tensor && mode.is_f16()) return in_mode(*tensor, mode);
  return tensor;
}

Result<NodeRun> finish_node(const KernelEntry& entry, KernelCall& call) {
  if (auto done = entry.run(call); !done) return tl::make_unexpected(done.error());
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    Tensor& t = call.outputs[i];
    if (call.node.outputs[i] == none_id) continue;
    if (t.empty())
      return fail(Error::Kind::internal,
                  fmt::format("{}: output {} was not computed", node_place(call.node, call.node.op), i));
    // A tensor that shares its elements was rounded when they were made.
    if (entry.moved_operands == 0) round_to_type(t, call.mode());
  }
  return NodeRun{std::move(call.outputs), call.largest_sum};
}

Result<NodeRun> run_node(const Model& model, const Graph& graph, NodeId id,
                         std::vector<const Tensor*> operands, const EvaluateOptions& options,
                         VariableStore* variables, bool carriers) {
  const Node& node = graph.node(id);
  const KernelEntry* entry = find_kernel(kernel_name(node));
  if (!entry) return fail(Error::Kind::unsupported, "no kernel for " + node_place(node, kernel_name(node)));
  KernelCall call{model, graph, node, id, options, std::move(operands), {}, carriers, 0, {}, variables};
  call.outputs.resize(node.outputs.size());
  call.call_graph = [&](int graph_index, std::vector<Tensor> inputs) {
    return evaluate(model, graph_index, inputs, options);
  };
  return finish_node(*entry, call);
}

}  // namespace md
