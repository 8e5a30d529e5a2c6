#include "lib/proof/compare_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/eval/budget.h"
#include "lib/eval/difference.h"
#include "lib/eval/kernel.h"
#include "lib/eval/limits.h"
#include "lib/proof/model_samples.h"
#include "lib/proof/site_runner.h"
#include "lib/proof/tally.h"

namespace md {
namespace {

double work_of(const Model& model, int graph_index) {
  Site site;
  site.graph = graph_index;
  site.before = model.graphs[static_cast<std::size_t>(graph_index)].order;
  return SiteRunner(model, model, site).work(1);
}

bool identical(const ModelOutputs& o) {
  for (std::size_t k = 0; k < o.a.size(); ++k)
    if (o.a[k].shape != o.b[k].shape || compare_tensors(o.a[k], o.b[k]).differing > 0) return false;
  return true;
}

std::vector<OutputComparison> named_outputs(const Graph& graph) {
  std::vector<OutputComparison> outputs;
  for (const ValueId v : graph.outputs) {
    OutputComparison output;
    output.name = graph.value(v).name;
    outputs.push_back(std::move(output));
  }
  return outputs;
}

/// Runs A keeping named values, then B against them.
std::string first_difference(const Model& a, const Model& b, const CompareOptions& options,
                             const std::vector<Tensor>& inputs, const std::vector<Tensor>& inputs_b) {
  const Graph& graph_a = a.graphs[static_cast<std::size_t>(options.graph_a)];
  const Graph& graph_b = b.graphs[static_cast<std::size_t>(options.graph_b)];
  std::unordered_map<std::string, Tensor> kept;
  std::int64_t bytes = 0;
  EvaluateOptions run;
  run.max_bytes = options.max_bytes;
  run.observe = [&](const Graph& graph, NodeId node, int output, const Tensor& tensor, double) {
    const Value& value = graph.value(graph.node(node).outputs[static_cast<std::size_t>(output)]);
    if (&graph != &graph_a || value.name.empty() || bytes > budget_of_models.bytes) return;
    bytes += static_cast<std::int64_t>(tensor.bytes());
    kept.emplace(value.name, tensor);
  };
  if (!evaluate(a, options.graph_a, inputs, run)) return {};
  std::string text;
  run.observe = [&](const Graph& graph, NodeId id, int output, const Tensor& tensor, double) {
    const Node& node = graph.node(id);
    const Value& value = graph.value(node.outputs[static_cast<std::size_t>(output)]);
    const auto at = kept.find(value.name);
    if (&graph != &graph_b || !text.empty() || at == kept.end() || at->second.shape != tensor.shape) return;
    const Difference d = compare_tensors(at->second, tensor);
    if (d.nonfinite == 0 && !(d.max_rel > model_sums_error)) return;
    text = d.nonfinite ? fmt::format("\"{}\" (node {} {}): {} elements are not finite in one model only",
                                     value.name, id, node.op, d.nonfinite)
                       : fmt::format("\"{}\" (node {} {}): {:.3g} apart, largest {:.3g}", value.name, id,
                                     node.op, d.max_abs, d.largest);
  };
  if (!evaluate(b, options.graph_b, inputs_b, run)) return {};
  return text;
}

/// Largest error of A in fp16 storage, relative to its largest output; nullopt when that is not finite.
std::optional<double> own_fp16_error(const Model& a, const CompareOptions& options,
                                     const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  EvaluateOptions half;
  half.mode.arithmetic = Arithmetic::f16_storage;
  half.max_bytes = options.max_bytes;
  const auto rounded = evaluate(a, options.graph_a, inputs, half);
  if (!rounded) return std::nullopt;
  double worst = 0;
  for (std::size_t k = 0; k < rounded->size(); ++k) {
    const Difference d = compare_tensors(outputs[k], (*rounded)[k]);
    if (d.nonfinite) return std::nullopt;
    if (outputs[k].is_float()) worst = std::max(worst, d.max_rel);
  }
  return worst;
}

}  // namespace

CompareOptions with_device_tolerance(CompareOptions options, bool fp16) {
  if (options.rtol || options.atol || options.exactness == Exactness::bounded) return options;
  options.exactness = Exactness::bounded;
  options.max_error = fp16 ? fp16_device_error : default_error;
  return options;
}

namespace {

/// Why the two cannot be run side by side; empty: they can.
std::string cannot_compare(const Model& a, const Model& b, const CompareOptions& options) {
  const Graph& graph_a = a.graphs[static_cast<std::size_t>(options.graph_a)];
  const Graph& graph_b = b.graphs[static_cast<std::size_t>(options.graph_b)];
  if (graph_a.inputs.size() != graph_b.inputs.size() || graph_a.outputs.size() != graph_b.outputs.size())
    return "the numbers of inputs or outputs differ";
  for (const Model* model : {&a, &b})
    if (const auto missing = missing_kernels(*model); !missing.empty())
      return "not evaluated: no kernel for " + missing[0];
  if (const auto fits = inputs_fit(a, options.graph_a, options.max_bytes); !fits && options.inputs.empty())
    return "not evaluated: " + fits.error().message;
  return {};
}

/// Two models side by side, sample by sample.
class SideBySide {
 public:
  SideBySide(const Model& a, const Model& b, const CompareOptions& options, ModelComparison& result)
      : a_(a),
        b_(b),
        graph_a_(a.graphs[static_cast<std::size_t>(options.graph_a)]),
        graph_b_(b.graphs[static_cast<std::size_t>(options.graph_b)]),
        options_(options),
        result_(result),
        input_at_(matched_values(graph_a_, graph_a_.inputs, graph_b_, graph_b_.inputs)),
        output_at_(matched_values(graph_a_, graph_a_.outputs, graph_b_, graph_b_.outputs)),
        tally_(result, options) {
    plain_.max_bytes = in_double_.max_bytes = options.max_bytes;
    in_double_.mode.arithmetic = Arithmetic::f64;
  }

  /// False: B cannot be evaluated where A can, which ends the comparison.
  bool add(const ModelSample& sample) {
    const std::vector<Tensor> inputs_b = inputs_of_b(sample.inputs);
    auto run_a = evaluate(a_, options_.graph_a, sample.inputs, plain_);
    if (!run_a) {
      result_.note = run_a.error().message;
      return true;
    }
    EvaluateOptions other = plain_;
    other.mode = options_.mode_b;
    auto run_b = evaluate(b_, options_.graph_b, inputs_b, other);
    if (!run_b) {
      result_.note = "B cannot be evaluated where A can: " + run_b.error().message;
      return false;
    }
    ModelOutputs o;
    o.a = std::move(*run_a);
    for (std::size_t k = 0; k < output_at_.size(); ++k)
      o.b.push_back(under_declared_shape((*run_b)[output_at_[k]],
                                         graph_b_.value(graph_b_.outputs[output_at_[k]]),
                                         graph_a_.value(graph_a_.outputs[k])));
    if (!identical(o))
      if (auto exact = evaluate(a_, options_.graph_a, sample.inputs, in_double_)) o.exact = std::move(*exact);
    const bool good = tally_.add(o, sample.text, is_ordinary(sample));
    if (!good && options_.find_layer && !looked_) {
      looked_ = true;
      result_.first_layer = first_difference(a_, b_, options_, sample.inputs, inputs_b);
    }
    if (options_.fp16_yardstick && !result_.fp16_error)
      result_.fp16_error = own_fp16_error(a_, options_, sample.inputs, o.a);
    return true;
  }

  void finish() { tally_.finish(); }

 private:
  std::vector<Tensor> inputs_of_b(const std::vector<Tensor>& inputs) const {
    std::vector<Tensor> inputs_b(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Value& to = graph_b_.value(graph_b_.inputs[input_at_[i]]);
      const Tensor& from = inputs[i];
      const Tensor typed = to.dtype == from.dtype ? from : Tensor::of(to.dtype, from.shape, from.numbers());
      inputs_b[input_at_[i]] = under_declared_shape(typed, graph_a_.value(graph_a_.inputs[i]), to);
    }
    return inputs_b;
  }

  const Model &a_, &b_;
  const Graph &graph_a_, &graph_b_;
  const CompareOptions& options_;
  ModelComparison& result_;
  const std::vector<std::size_t> input_at_, output_at_;
  Tally tally_;
  EvaluateOptions plain_, in_double_;
  bool looked_ = false;
};

}  // namespace

ModelComparison compare_models(const Model& a, const Model& b, const CompareOptions& options) {
  ModelComparison result;
  if (options.graph_a < 0 || static_cast<std::size_t>(options.graph_a) >= a.graphs.size() ||
      options.graph_b < 0 || static_cast<std::size_t>(options.graph_b) >= b.graphs.size()) {
    result.note = "a model has no such graph";
    return result;
  }
  const Graph& graph_a = a.graphs[static_cast<std::size_t>(options.graph_a)];
  const Graph& graph_b = b.graphs[static_cast<std::size_t>(options.graph_b)];
  result.interface_differences = compare_interfaces(graph_a, graph_b, options.retyped_floats);
  result.note = cannot_compare(a, b, options);
  if (!result.note.empty()) return result;
  result.outputs = named_outputs(graph_a);
  const double work = work_of(a, options.graph_a) + work_of(b, options.graph_b);
  const auto samples = make_samples(a, options, 2 * work, result.input_source);
  SideBySide comparison(a, b, options, result);
  for (const ModelSample& sample : samples)
    if (!comparison.add(sample)) return result;
  comparison.finish();
  return result;
}

ModelComparison compare_outputs(const Model& a, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& outputs, const CompareOptions& options) {
  ModelComparison result;
  const Graph& graph = a.graphs[static_cast<std::size_t>(options.graph_a)];
  result.outputs = named_outputs(graph);
  result.input_source = "1 given sample";
  EvaluateOptions plain, in_double;
  plain.max_bytes = in_double.max_bytes = options.max_bytes;
  in_double.mode.arithmetic = Arithmetic::f64;
  auto run = evaluate(a, options.graph_a, inputs, plain);
  if (!run) {
    result.note = run.error().message;
    return result;
  }
  if (run->size() != outputs.size()) {
    result.note = "the numbers of outputs differ";
    return result;
  }
  ModelOutputs o{.a = std::move(*run), .b = outputs, .exact = {}};
  if (!identical(o))
    if (auto exact = evaluate(a, options.graph_a, inputs, in_double)) o.exact = std::move(*exact);
  Tally tally(result, options);
  tally.add(o, "given sample", true);
  if (options.fp16_yardstick) result.fp16_error = own_fp16_error(a, options, inputs, o.a);
  tally.finish();
  return result;
}

}  // namespace md
