#include "lib/fp16/fp16_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/eval/budget.h"
#include "lib/eval/difference.h"
#include "lib/eval/limits.h"

namespace md {
namespace {

constexpr double look_cost = 40, make_cost = 60;  // work of looking at an element, of making one of an input
constexpr double worrying_error = 0.05;           // relative error of an output that people notice
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<int> depths(const Graph& graph) {
  std::vector<int> of_value(graph.values.size(), 0), of_node(graph.nodes.size(), 0);
  for (const NodeId id : graph.order) {
    int depth = 0;
    for (const ValueId v : graph.node(id).inputs)
      if (v != none_id) depth = std::max(depth, of_value[static_cast<std::size_t>(v)]);
    of_node[static_cast<std::size_t>(id)] = depth + 1;
    for (const ValueId v : graph.node(id).outputs)
      if (v != none_id) of_value[static_cast<std::size_t>(v)] = depth + 1;
  }
  return of_node;
}

struct Exact {
  Tensor tensor;
  double largest = 0;
};

/// Finite numbers only: what is infinite in exact arithmetic (the padding of a max pool) is no overflow of
/// fp16.
double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (std::size_t i = 0; i < tensor.size() * static_cast<std::size_t>(tensor.lanes()); ++i) {
    const double m = std::abs(tensor.number(i));
    if (m > largest && std::isfinite(m)) largest = m;
  }
  return largest;
}

/// Compares one fp16 value with the exact one and adds what it finds to the layer.
void compare(Fp16Layer& layer, const Exact& exact, const Tensor& half) {
  const std::size_t n = std::min(exact.tensor.size(), half.size());
  double worst = 0;
  bool all_zero = n > 0, any = false;
  for (std::size_t i = 0; i < n; ++i) {
    const double e = exact.tensor.number(i), h = half.number(i);
    if (h != 0) all_zero = false;
    if (e != 0) any = true;
    if (!std::isfinite(e)) continue;
    if (!std::isfinite(h))
      layer.overflows = true, worst = infinity;
    else
      worst = std::max(worst, std::abs(h - e));
  }
  if (std::isfinite(worst) && exact.largest > 0) worst /= exact.largest;
  layer.error = std::max(layer.error, worst);
  if (all_zero && any && exact.largest > 1e-4) layer.flushed = true;
}

/// Errors of the outputs relative to their largest value.
struct OutputError {
  double largest = 0;
  double typical =
      0;  ///< nine elements of ten are better: a FLOOR that falls on the other side is no loss of precision
};
OutputError output_error(const std::vector<Tensor>& right, const std::vector<Tensor>& half) {
  OutputError error;
  for (std::size_t k = 0; k < half.size(); ++k) {
    if (!half[k].is_float()) continue;
    const Difference d = compare_tensors(right[k], half[k]);
    error.largest = std::max(error.largest, d.nonfinite ? infinity : d.max_rel);
    std::vector<double> errors;
    for (std::size_t i = 0; i < std::min(right[k].size(), half[k].size()); ++i) {
      const double e = right[k].number(i), h = half[k].number(i);
      errors.push_back(e == h || (std::isnan(e) && std::isnan(h))              ? 0
                       : std::isfinite(e) && std::isfinite(h) && d.largest > 0 ? std::abs(e - h) / d.largest
                                                                               : infinity);
    }
    if (errors.empty()) continue;
    const auto at = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() * 9 / 10);
    std::nth_element(errors.begin(), at, errors.end());
    error.typical = std::max(error.typical, *at);
  }
  return error;
}

std::string symptom_of(const std::vector<Tensor>& outputs, const OutputError& error) {
  bool nan = false, inf = false, zeros = !outputs.empty(), any_float = false;
  for (const Tensor& t : outputs) {
    if (!t.is_float()) continue;
    any_float = true;
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double v = t.number(i);
      if (std::isnan(v))
        nan = true;
      else if (std::isinf(v))
        inf = true;
      if (v != 0) zeros = false;
    }
  }
  if (!any_float) return "";
  // A NaN that exact arithmetic gives too (the logarithm of a negative number) is none of fp16's doing.
  const bool parted = std::isinf(error.largest);
  if (nan && parted) return "nan";
  if (inf && parted) return "inf";
  if (zeros && error.largest > 0.5) return "zeros";
  return error.typical > worrying_error ? "wrong" : "";
}

std::string place(const Fp16Layer& layer) {
  return layer.layer.empty() ? fmt::format("\"{}\" ({})", layer.name, layer.op)
                             : fmt::format("\"{}\" ({} in {})", layer.name, layer.op, layer.layer);
}

void conclude(Fp16Report& report) {
  for (std::size_t i = 0; i < report.layers.size() && !report.first; ++i) {
    const Fp16Layer& layer = report.layers[i];
    if (layer.overflows || layer.sum_passes) report.first = i;
  }
  std::vector<std::vector<double>> by_depth;
  for (const Fp16Layer& layer : report.layers) {
    by_depth.resize(std::max(by_depth.size(), static_cast<std::size_t>(layer.depth)));
    if (layer.depth > 0 && std::isfinite(layer.error))
      by_depth[static_cast<std::size_t>(layer.depth) - 1].push_back(layer.error);
  }
  for (auto& errors : by_depth) {
    if (errors.empty()) continue;
    std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2),
                     errors.end());
    report.error_by_depth.push_back(errors[errors.size() / 2]);
  }
  const std::string seen =
      report.symptom == "zeros" ? "the outputs are all zero"
      : report.symptom == "nan" ? "the outputs are NaN"
      : report.symptom == "inf" ? "the outputs are infinite"
      : report.symptom == "wrong"
          ? fmt::format("the outputs are {:.2g} of their largest value off", report.output_error)
          : "";
  if (report.first) {
    const Fp16Layer& layer = report.layers[*report.first];
    report.verdict = Fp16Verdict::overflow;
    const double reaches = std::max(layer.largest, layer.largest_sum);
    report.summary =
        layer.overflows && layer.largest > largest_f16
            ? fmt::format("overflow: {} reaches {:.3g}, fp16 ends at 65504", place(layer), layer.largest)
        : layer.sum_passes ? fmt::format("overflow: a sum inside {} reaches {:.3g}, fp16 ends at 65504",
                                         place(layer), reaches)
                           : fmt::format("overflow: {} is not finite in fp16", place(layer));
    // What follows from an input that fp16 does not hold is no layer's fault.
    if (!report.input.empty())
      report.summary =
          fmt::format("overflow: the input \"{}\" reaches {:.3g}, fp16 ends at 65504; first layer: {}",
                      report.input, report.input_largest, place(layer));
    if (!seen.empty())
      report.summary += "; " + seen;
    else
      report.summary += "; the outputs stay near";
  } else if (!report.symptom.empty()) {
    report.verdict = Fp16Verdict::precision;
    const double start = report.error_by_depth.empty() ? 0 : report.error_by_depth.front(),
                 end = report.error_by_depth.empty() ? 0 : report.error_by_depth.back();
    report.summary =
        fmt::format("precision: nothing overflows, the error grows from {:.1e} to {:.1e} over {} levels; {}",
                    start, end, report.error_by_depth.size(), seen);
  } else {
    report.verdict = Fp16Verdict::fine;
    report.summary = fmt::format("fits in fp16: no overflow, outputs within {:.1e} of their largest value",
                                 report.output_error);
  }
}

/// Runs samples exactly and as the device would, and keeps what each layer shows.
class Fp16Run {
 public:
  Fp16Run(const Model& model, int graph_index, const Fp16Options& options, Fp16Report& report)
      : model_(model),
        graph_index_(graph_index),
        main_(model.graphs[static_cast<std::size_t>(graph_index)]),
        options_(options),
        report_(report),
        depth_(depths(main_)) {
    const std::int64_t most = options.inputs.max_bytes > 0 ? options.inputs.max_bytes : limits_.bytes;
    most_traced_ = std::min(budget_of_report.bytes, most / 2);
  }

  bool given() const { return !options_.inputs.inputs.empty(); }
  int samples() const {
    return given() ? static_cast<int>(options_.inputs.inputs.size()) : std::max(1, options_.inputs.samples);
  }

  /// Error: it cannot be evaluated.
  Status run() {
    for (int s = 0; s < samples(); ++s) {
      // Random samples of a large model say little more than the first ones.
      if (!given() && s > 0 && work_ * (s + 1) / s > limits_.work) break;
      if (auto status = run(inputs_of(s)); !status) return status;
    }
    return {};
  }

 private:
  std::vector<Tensor> inputs_of(int sample) {
    auto inputs = given() ? options_.inputs.inputs[static_cast<std::size_t>(sample)]
                          : plausible_inputs(model_, graph_index_, options_.inputs, sample, &report_.source);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      work_ += make_cost * static_cast<double>(inputs[i].size());
      const double m = inputs[i].is_float() && i < main_.inputs.size() ? largest_of(inputs[i]) : 0;
      if (m > largest_f16 && m > report_.input_largest)
        report_.input = main_.value(main_.inputs[i]).name, report_.input_largest = m;
    }
    return inputs;
  }

  Status run(const std::vector<Tensor>& inputs) {
    exact_.clear(), traced_ = 0;
    EvaluateOptions exactly = evaluation();
    exactly.mode.arithmetic = Arithmetic::f64;
    exactly.watch_sums = true;
    exactly.observe = [this](const Graph& graph, NodeId id, int output, const Tensor& tensor, double sum) {
      if (&graph == &main_ && tensor.is_float()) keep(id, output, tensor, sum);
    };
    const auto right = evaluate(model_, graph_index_, inputs, exactly);
    if (!right) return tl::make_unexpected(right.error());
    EvaluateOptions device = evaluation();
    device.mode.arithmetic = options_.arithmetic;
    device.mode.saturate = options_.saturate;
    device.observe = [this](const Graph& graph, NodeId id, int output, const Tensor& tensor, double) {
      if (&graph != &main_ || !tensor.is_float()) return;
      work_ += look_cost * static_cast<double>(tensor.size());
      if (const auto at = exact_.find({id, output}); at != exact_.end())
        compare(layer_of(id, output), at->second, tensor);
    };
    const auto half = evaluate(model_, graph_index_, inputs, device);
    if (!half) return tl::make_unexpected(half.error());
    ++report_.samples;
    const OutputError error = output_error(*right, *half);
    report_.output_error = std::max(report_.output_error, error.largest);
    if (error.typical >= typical_) {
      typical_ = error.typical;
      report_.symptom = symptom_of(*half, error);
    }
    return {};
  }

  EvaluateOptions evaluation() {
    EvaluateOptions options;
    options.mode.wide_mean = options_.wide_mean;
    options.work = &work_;
    options.max_bytes = options_.inputs.max_bytes;
    return options;
  }

  /// Of a layer in exact arithmetic; the tensor while there is room for it.
  void keep(NodeId id, int output, const Tensor& tensor, double sum) {
    Fp16Layer& layer = layer_of(id, output);
    work_ += look_cost * static_cast<double>(tensor.size());
    const double largest = largest_of(tensor);
    layer.largest = std::max(layer.largest, largest);
    layer.largest_sum = std::max(layer.largest_sum, sum);
    if (traced_ + static_cast<std::int64_t>(tensor.bytes()) > most_traced_) return;
    traced_ += static_cast<std::int64_t>(tensor.bytes());
    exact_[{id, output}] = {tensor, largest};
  }

  Fp16Layer& layer_of(NodeId id, int output) {
    const auto [at, fresh] = row_.try_emplace({id, output}, report_.layers.size());
    if (fresh) {
      Fp16Layer layer;
      const Node& node = main_.node(id);
      layer.node = id, layer.value = node.outputs[static_cast<std::size_t>(output)];
      layer.op = node.op, layer.layer = node.layer, layer.name = main_.value(layer.value).name;
      layer.depth = depth_[static_cast<std::size_t>(id)];
      report_.layers.push_back(std::move(layer));
    }
    return report_.layers[at->second];
  }

  const Model& model_;
  const int graph_index_;
  const Graph& main_;
  const Fp16Options& options_;
  Fp16Report& report_;
  const std::vector<int> depth_;
  const Budget limits_ = default_limits(model_);
  std::int64_t most_traced_ = 0, traced_ = 0;  // bytes of exact values, of one sample
  std::map<std::pair<NodeId, int>, std::size_t> row_;
  std::map<std::pair<NodeId, int>, Exact> exact_;
  double typical_ = 0, work_ = 0;
};

}  // namespace

Fp16Report fp16_report(const Model& model, int graph_index, const Fp16Options& options) {
  Fp16Report report;
  if (graph_index < 0 || static_cast<std::size_t>(graph_index) >= model.graphs.size()) {
    report.note = report.summary = fmt::format("there is no graph {}", graph_index);
    return report;
  }
  Fp16Run run(model, graph_index, options, report);
  auto status = run.given() ? Status{} : inputs_fit(model, graph_index, options.inputs.max_bytes);
  if (status) status = run.run();
  if (!status) {
    report.note = report.summary = "not evaluated: " + status.error().message;
    return report;
  }
  if (run.given())
    report.source = {InputSource::Kind::given,
                     fmt::format("{} given sample{}", run.samples(), run.samples() == 1 ? "" : "s")};
  for (Fp16Layer& layer : report.layers) {
    layer.headroom_bits = layer.largest > 0 ? std::log2(largest_f16 / layer.largest) : infinity;
    if (layer.largest > largest_f16) layer.overflows = true;
    layer.sum_passes = layer.largest_sum > largest_f16 && !layer.overflows;
  }
  conclude(report);
  return report;
}

}  // namespace md
