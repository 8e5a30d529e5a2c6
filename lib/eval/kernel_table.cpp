#include <bit>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "lib/eval/kernel.h"
#include "lib/eval/limits.h"
#include "lib/eval/node_place.h"
#include "lib/op/dialect.h"

namespace md {
namespace {

using Rows = std::unordered_map<std::string_view, std::vector<const KernelEntry*>>;

const Rows& rows_of(const Dialect& dialect) {
  static const std::unordered_map<const Dialect*, Rows> tables = [] {
    std::unordered_map<const Dialect*, Rows> all;
    for (const Dialect* known : dialects())
      for (const KernelGroup group : known->kernels)
        for (const KernelEntry& entry : group()) all[known][entry.op].push_back(&entry);
    return all;
  }();
  static const Rows none;
  const auto at = tables.find(&dialect);
  return at == tables.end() ? none : at->second;
}

}  // namespace

const KernelEntry* find_kernel(const Graph& graph, const Node& node) {
  if (!graph.dialect) return nullptr;
  const Rows& rows = rows_of(*graph.dialect);
  const auto at = rows.find(node.op);
  if (at == rows.end()) {  // a function of the model's own, where the format has such
    const auto call = node.subgraphs.size() == 1 ? rows.find("(function)") : rows.end();
    return call == rows.end() ? nullptr : call->second.front();
  }
  const std::string_view by_code = graph.dialect->custom_operator;
  const std::string_view domain = by_code.empty() || node.op == by_code ? node.custom : std::string_view();
  for (const KernelEntry* entry : at->second)
    if (entry->domain == domain && node.version >= entry->since && node.version < entry->before) return entry;
  return nullptr;
}

const KernelEntry* find_kernel(const Dialect& dialect, std::string_view op) {
  const Rows& rows = rows_of(dialect);
  const auto at = rows.find(op);
  const KernelEntry* newest = nullptr;
  if (at != rows.end())
    for (const KernelEntry* entry : at->second)
      if (entry->domain.empty() && (!newest || entry->since > newest->since)) newest = entry;
  return newest;
}

std::string kernel_name(const Graph& graph, const Node& node) {
  const bool by_code = graph.dialect && !node.op.empty() && node.op == graph.dialect->custom_operator;
  return by_code ? node.op + ":" + node.custom : node.op;
}

Status KernelCall::need(std::size_t n) const {
  for (std::size_t i = 0; i < n; ++i)
    if (!has(i)) return bad(fmt::format("operand {} is missing", i));
  return {};
}

tl::unexpected<Error> KernelCall::bad(std::string what) const {
  return input_error(node_place(node, kernel_name(graph, node)) + ": " + what);
}

tl::unexpected<Error> KernelCall::unsupported(std::string what) const {
  return fail(Error::Kind::unsupported,
              fmt::format("no kernel for {} {}", node_place(node, kernel_name(graph, node)), what));
}

Result<Tensor> KernelCall::make(DType dtype, Shape shape) const {
  const auto count = element_count(shape);
  const auto store = store_of(dtype, wide());
  if (!store) return unsupported(fmt::format("with elements of type {}", name(dtype)));
  if (!count) return bad(fmt::format("a result of shape {} is asked for", shape_text(shape)));
  if (*count > options.max_bytes / 16 && static_cast<std::uint64_t>(*count) * store_bytes(*store) * 2 >
                                             static_cast<std::uint64_t>(options.max_bytes))
    return fail(Error::Kind::unsupported,
                fmt::format("{}: a result of shape {} is past the limit of {} MB", node_place(node, node.op),
                            shape_text(shape), options.max_bytes >> 20));
  if (auto fits = charge(*this, work_of_result(*this, *count)); !fits)
    return tl::make_unexpected(fits.error());
  return Tensor::make(dtype, std::move(shape), wide());
}

std::shared_ptr<const Quantization> KernelCall::out_quantization(std::size_t i) const {
  const Value& value = out_value(i);
  if (!value.quantization || value.quantization->scale.empty()) return nullptr;
  // The value outlives the call; a tensor may outlive the model.
  return std::make_shared<const Quantization>(*value.quantization);
}

namespace {

/// Of a result that no file and no inference gave a type (in a function that several nodes call, each with
/// types of its own): what follows from the operands at hand.
DType type_of_result(const KernelCall& call, std::size_t i) {
  constexpr std::size_t most_sizes = 64;  // of an operand that may be a list of sizes or axes
  const DType declared = call.out_value(i).dtype;
  if (declared != DType::unknown || !call.graph.dialect || !call.graph.dialect->infer) return declared;
  std::vector<Value> values(call.inputs.size());
  std::vector<const Value*> operands(call.inputs.size(), nullptr);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!call.inputs[k]) continue;
    values[k].dtype = call.inputs[k]->dtype, values[k].shape = call.inputs[k]->shape;
    if (is_integer(values[k].dtype) && call.inputs[k]->size() <= most_sizes)
      values[k].constant = Constant::own(constant_bytes(*call.inputs[k]));
    operands[k] = &values[k];
  }
  const auto types = call.graph.dialect->infer(call.node, operands, call.node.outputs.size());
  return types && i < types->size() ? (*types)[i].dtype : declared;
}

}  // namespace

Result<Tensor> KernelCall::make_output(std::size_t i, Shape shape) const {
  auto tensor = make(carriers ? DType::i64 : type_of_result(*this, i), std::move(shape));
  if (tensor && !carriers) tensor->quantization = out_quantization(i);
  return tensor;
}

void KernelCall::forward(std::size_t i, const Tensor& source, Shape shape) {
  out_value(i);  // there is one
  outputs[i] = source.reshaped(std::move(shape));
  if (!carriers) outputs[i].quantization = out_quantization(i);
}

std::int64_t carrier_code(DType dtype, double number) {
  if (is_float(dtype)) {
    const auto as_float = static_cast<float>(number);
    return -1 - static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(as_float));
  }
  // Integers of either sign map to even and odd codes, 0 to -1.
  const auto n = static_cast<std::int64_t>(number);
  return n >= 0 ? -1 - 2 * n : 2 * n;
}

std::optional<std::size_t> normal_axis(std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

template <class T>
void activate(Activation activation, std::span<T> values) {
  // A NaN stays a NaN: max(NaN, 0) as std::max(v, 0) keeps its first argument.
  switch (activation) {
    case Activation::none:
      return;
    case Activation::relu:
      for (T& v : values) v = v < T(0) ? T(0) : v;
      return;
    case Activation::relu_n1_to_1:
      for (T& v : values) v = v < T(-1) ? T(-1) : v > T(1) ? T(1) : v;
      return;
    case Activation::relu6:
      for (T& v : values) v = v < T(0) ? T(0) : v > T(6) ? T(6) : v;
      return;
    case Activation::tanh:
      for (T& v : values) v = std::tanh(v);
      return;
    case Activation::sign_bit:
      for (T& v : values) v = std::signbit(v) ? T(1) : T(0);
      return;
  }
}
template void activate<float>(Activation, std::span<float>);
template void activate<double>(Activation, std::span<double>);

}  // namespace md
