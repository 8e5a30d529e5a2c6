#include "lib/eval/run_node.h"

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <stdexcept>

#include "lib/eval/limits.h"
#include "lib/eval/node_place.h"
#include "lib/op/dialect.h"

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
  else if (is_small_float(tensor.dtype))
    for (float& v : tensor.mutable_data<float>())
      if (std::isfinite(v))  // an infinity is a kernel's choice
        v = static_cast<float>(round_to_small_float(tensor.dtype, static_cast<double>(v), true));
}

bool is_complex(DType dtype) { return dtype == DType::c32 || dtype == DType::c64 || dtype == DType::c128; }

/// A complex element has two lanes: kernels that do not know would read half of the numbers, or write past
/// the end.
Status check_lanes(const KernelEntry& entry, const KernelCall& call) {
  if (entry.complex || call.carriers || (call.graph.dialect && call.graph.dialect->complex_kernels))
    return {};
  std::optional<DType> real, complex;
  const auto see = [&](DType dtype) { (is_complex(dtype) ? complex : real) = dtype; };
  for (const ValueId v : call.node.outputs)
    if (v != none_id) see(call.graph.value(v).dtype);
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (call.inputs[i] && (entry.moved_operands == 0 || (i < 32 && (entry.moved_operands >> i & 1) != 0)))
      see(call.inputs[i]->dtype);
  if (!complex) return {};
  if (entry.moved_operands == 0) return call.unsupported(fmt::format("on {}", name(*complex)));
  if (real) return call.bad(fmt::format("moves between {} and {}", name(*real), name(*complex)));
  return {};
}

}  // namespace

Status guarded(const KernelEntry& entry, KernelCall& call) {
  if (auto fits = check_lanes(entry, call); !fits) return fits;
  if (call.outputs.empty()) call.outputs.resize(1);  // a kernel that gives nothing leaves it empty
  try {
    return entry.run(call);
  } catch (const TensorFault& fault) {
    return call.bad(fmt::format("{}: the operator's types and operands do not fit each other", fault.what()));
  } catch (const std::bad_alloc&) {
    return fail(Error::Kind::unsupported,
                fmt::format("{}: there is not enough memory for it",
                            node_place(call.node, kernel_name(call.graph, call.node))));
  } catch (const std::length_error&) {
    return fail(Error::Kind::unsupported,
                fmt::format("{}: sizes past what memory can hold",
                            node_place(call.node, kernel_name(call.graph, call.node))));
  }
}

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
  if (auto done = guarded(entry, call); !done) return tl::make_unexpected(done.error());
  call.outputs.resize(call.node.outputs.size());
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
  const KernelEntry* entry = find_kernel(graph, node);
  if (!entry)
    return fail(Error::Kind::unsupported, "no kernel for " + node_place(node, kernel_name(graph, node)));
  EvaluateOptions own = options;
  if (own.max_bytes <= 0 || own.max_work <= 0) {
    const Budget limits = default_limits(model);
    if (own.max_bytes <= 0) own.max_bytes = limits.bytes;
    if (own.max_work <= 0) own.max_work = limits.work;
  }
  double work = 0;
  KernelCall call{.model = model,
                  .graph = graph,
                  .node = node,
                  .id = id,
                  .options = own,
                  .inputs = std::move(operands),
                  .carriers = carriers,
                  .variables = variables,
                  .work = &work};
  call.outputs.resize(node.outputs.size());
  call.call_graph = [&](int graph_index, std::vector<Tensor> inputs) {
    return evaluate(model, graph_index, inputs, own);
  };
  return finish_node(*entry, call);
}

}  // namespace md
