#include "lib/proof/site_runner.h"

#include <algorithm>
#include <set>

#include "lib/eval/fold.h"
#include "lib/eval/index_limit.h"
#include "lib/eval/kernel.h"
#include "lib/op/dialect.h"
#include "lib/op/work.h"

namespace md {
namespace {

std::int64_t size_of(const Shape& shape, std::int64_t dynamic_size) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape)
    if (__builtin_mul_overflow(n, d < 0 ? dynamic_size : d, &n)) return std::int64_t{1} << 62;
  return n;
}

}  // namespace

Status SiteRunner::prepare() {
  for (const ValueId v : site_.folded) {
    auto tensor = fold_value(before_, site_.graph, v);
    if (!tensor) return tl::make_unexpected(tensor.error());
    folded_[v] = std::move(*tensor);
  }
  return {};
}

Tensor under_declared_shape(const Tensor& tensor, const Value& from, const Value& to) {
  const bool changed =
      from.shape != to.shape && element_count(to.shape) == static_cast<std::int64_t>(tensor.size());
  return changed ? tensor.reshaped(to.shape) : tensor;
}

Result<std::vector<Tensor>> SiteRunner::run_before(const TensorMap& inputs,
                                                   const EvaluateOptions& options) const {
  TensorMap known = folded_;
  for (const auto& [id, tensor] : inputs) known[id] = tensor;
  std::vector<ValueId> wanted;
  for (const auto& output : site_.outputs) wanted.push_back(output.first);
  auto tensors = evaluate_nodes(before_, site_.graph, site_.before, std::move(known), wanted, options);
  if (!tensors) return tl::make_unexpected(tensors.error());
  std::vector<Tensor> outputs;
  for (const ValueId v : wanted) outputs.push_back(tensors->at(v));
  return outputs;
}

Result<std::vector<Tensor>> SiteRunner::run_after(const TensorMap& inputs,
                                                  const EvaluateOptions& options) const {
  TensorMap known = folded_;
  for (const auto& [id, tensor] : inputs) {
    const Value& value = new_graph().value(id);
    // An input that the rewrite retypes (bf16 -> f32) holds the same numbers in the new type.
    known[id] = value.dtype == tensor.dtype || value.dtype == DType::unknown
                    ? tensor
                    : Tensor::of(value.dtype, tensor.shape, tensor.numbers());
    known[id] = under_declared_shape(known[id], input_value(id), value);
  }
  std::vector<ValueId> wanted;
  for (const auto& output : site_.outputs) wanted.push_back(output.second);
  auto tensors = evaluate_nodes(after_, site_.graph, site_.after, std::move(known), wanted, options);
  if (!tensors) return tl::make_unexpected(tensors.error());
  std::vector<Tensor> outputs;
  for (const auto& [old_id, id] : site_.outputs)
    outputs.push_back(
        under_declared_shape(tensors->at(id), new_graph().value(id), old_graph().value(old_id)));
  return outputs;
}

const Value& SiteRunner::input_value(ValueId id) const {
  return static_cast<std::size_t>(id) < old_graph().values.size() ? old_graph().value(id)
                                                                  : new_graph().value(id);
}

Shape SiteRunner::input_shape(ValueId input, std::int64_t size) const {
  if (const auto at = shapes_.find(input); at != shapes_.end()) return at->second;
  Shape shape = input_value(input).shape;
  for (std::int64_t& d : shape)
    if (d < 0) d = size;
  return shape;
}

InputShapes SiteRunner::shapes(std::int64_t dynamic_size) const {
  InputShapes shapes;
  for (const ValueId v : site_.inputs) shapes[v] = input_shape(v, dynamic_size);
  return shapes;
}

bool SiteRunner::has_dynamic_input() const {
  return std::any_of(site_.inputs.begin(), site_.inputs.end(), [&](ValueId v) {
    const Shape& shape = input_value(v).shape;
    return std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < 0; });
  });
}

std::int64_t SiteRunner::index_limit(ValueId input) const {
  // What reads the value outside the site counts too: an index that the original refuses need not be
  // considered.
  const std::int64_t a = md::index_limit(old_graph(), old_graph().order, input),
                     b = md::index_limit(new_graph(), site_.after, input);
  return a && b ? std::min(a, b) : std::max(a, b);
}

/// How many marks a boolean mask must have, where the program fixes the number of rows that it selects.
std::optional<std::int64_t> SiteRunner::marks_wanted(ValueId input, std::int64_t dynamic_size) const {
  if (input_value(input).dtype != DType::boolean) return std::nullopt;
  const Graph& graph = old_graph();
  for (const NodeId id : site_.before) {
    const Node& node = graph.node(id);
    const OpSpec* row = row_of(graph, node);
    for (const IndexUse& use : row && row->indices ? row->indices(graph, node) : std::vector<IndexUse>())
      if (use.marks && use.operand < node.inputs.size() && node.inputs[use.operand] == input)
        return *use.marks == dynamic_dim ? dynamic_size : *use.marks;
  }
  return std::nullopt;
}

Tensor SiteRunner::mask_with(const Shape& shape, std::int64_t marks, std::uint64_t seed) {
  std::vector<std::int64_t> bits(static_cast<std::size_t>(element_count(shape).value_or(0)), 0);
  Random random(seed);
  for (std::int64_t left = std::min<std::int64_t>(marks, static_cast<std::int64_t>(bits.size())); left > 0;) {
    auto& bit = bits[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bits.size())))];
    if (!bit) bit = 1, --left;
  }
  return Tensor::of_integers(DType::boolean, shape, bits);
}

TensorMap SiteRunner::sample_inputs(const Recipe& recipe, std::int64_t dynamic_size) const {
  TensorMap inputs;
  int position = 0;
  for (const ValueId v : site_.inputs) {
    const Value& value = input_value(v);
    std::shared_ptr<const Quantization> quantization;
    if (value.quantization && !value.quantization->scale.empty() && !is_float(value.dtype))
      quantization = std::make_shared<const Quantization>(*value.quantization);
    if (value.dtype == DType::symint) {  // every dimension that is not known before run time has this size
      inputs[v] = Tensor::of_integers(DType::i64, {}, std::vector<std::int64_t>{dynamic_size});
      ++position;
      continue;
    }
    SampleLimits limits;
    limits.index_limit = index_limit(v);
    limits.largest = largest_;
    inputs[v] = sample(value.dtype, input_shape(v, dynamic_size), std::move(quantization), recipe, position++,
                       limits);
    if (const auto marks = marks_wanted(v, dynamic_size))
      inputs[v] = mask_with(inputs[v].shape, *marks, recipe.seed);
  }
  return inputs;
}

double SiteRunner::work(std::int64_t dynamic_size) const {
  double total = 0;
  const double slowness = before_.dialect->kernel_slowness;
  const auto add = [&](const Graph& graph, const std::vector<NodeId>& nodes) {
    for (const NodeId id : nodes) {
      const Node& node = graph.node(id);
      for (const ValueId v : node.outputs)
        if (v != none_id)
          total += static_cast<double>(size_of(graph.value(v).shape, dynamic_size)) *
                   (1 + slowness * static_cast<double>(reduction_length(graph, node)) / 4);
    }
  };
  add(old_graph(), site_.before);
  add(new_graph(), site_.after);
  for (const ValueId v : site_.inputs)
    total += 8.0 * static_cast<double>(size_of(input_value(v).shape, dynamic_size));  // making the numbers
  return total;
}

double SiteRunner::longest_sum() const {
  double longest = 1;
  for (const NodeId id : site_.before)
    longest = std::max(longest, static_cast<double>(reduction_length(old_graph(), old_graph().node(id))));
  for (const NodeId id : site_.after)
    longest = std::max(longest, static_cast<double>(reduction_length(new_graph(), new_graph().node(id))));
  return longest;
}

double SiteRunner::roundings() const {
  const auto computing = [](const Graph& graph, const std::vector<NodeId>& nodes) {
    return static_cast<double>(std::count_if(nodes.begin(), nodes.end(), [&](NodeId id) {
      const KernelEntry* entry = find_kernel(graph, graph.node(id));
      return entry && entry->moved_operands == 0;
    }));
  };
  return longest_sum() + std::max(computing(old_graph(), site_.before), computing(new_graph(), site_.after));
}

}  // namespace md
