#include "lib/diagnose/hybrid_gap.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/eval/budget.h"
#include "lib/eval/difference.h"
#include "lib/op/work.h"

namespace md {
namespace {

constexpr int kSamples = 2;
constexpr double kWorthSaying = 1e-3;  // what `verify --on` grants a device in fp32

bool is_byte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

/// The weights are read as they are stored: a DEQUANTIZE in front makes an ordinary float operator.
bool is_hybrid(const Graph& graph, const Node& node) {
  const auto is_float_result = [&](ValueId v) { return v >= 0 && is_float(graph.value(v).dtype); };
  if (!std::any_of(node.outputs.begin(), node.outputs.end(), is_float_result)) return false;
  bool activations = false, weights = false;
  for (const ValueId v : node.inputs) {
    if (v < 0) continue;
    const Value& value = graph.value(v);
    activations = activations || (!value.is_constant() && is_float(value.dtype));
    weights = weights || (value.is_constant() && is_byte(value.dtype) && value.quantization &&
                          !value.quantization->scale.empty());
  }
  return activations && weights;
}

/// Largest distance of the two arithmetics over the outputs, relative to the largest |output|; negative: not
/// known.
double distance(const Model& model, const std::vector<Tensor>& inputs) {
  EvaluateOptions cpu, real;
  real.mode.arithmetic = Arithmetic::f64;
  const auto rounded = evaluate(model, 0, inputs, cpu);
  if (!rounded) return -1;
  const auto exact = evaluate(model, 0, inputs, real);
  if (!exact) return -1;
  double worst = 0;
  for (std::size_t k = 0; k < rounded->size(); ++k)
    if ((*rounded)[k].is_float())
      worst = std::max(worst, compare_tensors((*exact)[k], (*rounded)[k]).max_rel);
  return worst;
}

}  // namespace

int count_hybrid_operators(const Model& model) {
  int count = 0;
  for (const Graph& graph : model.graphs)
    count += static_cast<int>(std::count_if(graph.order.begin(), graph.order.end(),
                                            [&](NodeId id) { return is_hybrid(graph, graph.node(id)); }));
  return count;
}

std::string hybrid_gap_note(const Model& model, const HeadroomOptions& values) {
  const int operators = count_hybrid_operators(model);
  if (operators == 0 || model.graphs.empty()) return {};
  InputSource source;
  double worst = 0;
  const int samples = budget_of_estimate.runs(static_cast<double>(total_multiply_adds(model) + 1), kSamples);
  for (int i = 0; i < samples; ++i) {
    const auto given = static_cast<std::size_t>(i);
    if (given < values.inputs.size()) source = {InputSource::Kind::given, "the given inputs"};
    worst = std::max(worst, distance(model, given < values.inputs.size()
                                                ? values.inputs[given]
                                                : plausible_inputs(model, 0, values, i, &source)));
    if (i + 1 == static_cast<int>(values.inputs.size())) break;
  }
  const std::string many = operators == 1 ? "1 operator has" : fmt::format("{} operators have", operators);
  const std::string why = fmt::format(
      "{} 8-bit weights and float activations: the CPU rounds those activations to 8 bits, the GPU computes "
      "in floats",
      many);
  if (samples == 0)
    return why +
           "; the numbers of the two differ by that, with and without a fix (not estimated: the model "
           "is too large for that here)";
  if (worst < kWorthSaying) return {};
  return fmt::format(
      "{}. That alone moves the outputs by up to {:.2g} of their largest value (estimated with {}), with and "
      "without a fix: judge the GPU by the float model, not by the CPU's numbers",
      why, worst, source.text);
}

}  // namespace md
