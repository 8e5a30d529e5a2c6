#include "lib/proof/compare_models.h"
#include "lib/eval/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/eval/difference.h"
#include "lib/eval/index_limit.h"
#include "lib/eval/kernel.h"
#include "lib/eval/samples.h"
#include "lib/fp16/headroom.h"
#include "lib/proof/site_runner.h"

namespace md {
namespace {

constexpr double budget = 4e9;  // multiply-adds spent on one comparison
constexpr double summed_limit =
    1e30;  // |inputs| where sums may be reordered: nearer to the end of f32 any order may overflow
constexpr double summed_error =
    1e-5;  // of the largest |output|: what another order of a model's sums may change
constexpr std::int64_t trace_limit = std::int64_t{512}
                                     << 20;  // bytes of values kept to find the first layer that parts

// |inputs| that models meet: pixels, tokens, logits, audio. Above it absolute differences are as huge as the
// values.
constexpr double ordinary_limit = 1000;

struct Sample {
  std::vector<Tensor> inputs;
  std::string text;
  bool given = false;  ///< by the user, or in ranges that are known: ordinary however large
};

/// Integers are indices, or cover the range that they are stored in.
bool is_ordinary(const Sample& sample) {
  return sample.given || std::all_of(sample.inputs.begin(), sample.inputs.end(), [](const Tensor& input) {
           if (!input.is_float()) return true;
           const std::vector<double> numbers = input.numbers();
           return std::all_of(numbers.begin(), numbers.end(),
                              [](double v) { return std::abs(v) <= ordinary_limit; });
         });
}

void note_difference(WorstDifference& worst, const Difference& d) {
  worst.max_abs = std::max(worst.max_abs, d.max_abs);
  worst.max_rel = std::max(worst.max_rel, d.max_rel);
}

std::vector<Sample> make_samples(const Model& model, const CompareOptions& options, double work,
                                 std::string& source) {
  std::vector<Sample> samples;
  if (!options.inputs.empty()) {
    for (std::size_t i = 0; i < options.inputs.size(); ++i)
      samples.push_back({options.inputs[i], fmt::format("given sample {}", i + 1), true});
    source = fmt::format("{} given sample{}", samples.size(), samples.size() == 1 ? "" : "s");
    if (!options.also_generated) return samples;
  }
  const Graph& graph = model.graphs[static_cast<std::size_t>(options.graph_a)];
  const int count = static_cast<int>(
      std::clamp(budget / std::max(work, 1.0), 1.0, static_cast<double>(std::max(1, options.samples))));
  HeadroomOptions plausible;
  plausible.ranges = options.ranges;
  plausible.seed = options.seed;
  InputSource from;
  samples.push_back({plausible_inputs(model, options.graph_a, plausible, 0, &from),
                     from.kind == InputSource::Kind::random ? "normal, scale 1" : "in the known ranges",
                     true});
  source += (source.empty() ? "" : ", ") + from.text + (count > 1 ? ", then extremes and other scales" : "");
  for (const Recipe& recipe : finite_recipes(count - 1, options.seed)) {
    Sample sample;
    sample.text = recipe.text;
    sample.given = std::all_of(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) {
      return !is_float(graph.value(id).dtype) || options.ranges.contains(graph.value(id).name);
    });
    int position = 0;
    for (const ValueId id : graph.inputs) {
      const Value& value = graph.value(id);
      SampleLimits limits;
      limits.index_limit = index_limit(graph, graph.order, id);
      if (options.exactness != Exactness::exact) limits.largest = summed_limit;
      if (const auto at = options.ranges.find(value.name); at != options.ranges.end())
        limits.low = at->second.first, limits.high = at->second.second;
      std::shared_ptr<const Quantization> quantization;
      if (value.quantization && !value.quantization->scale.empty() && !is_float(value.dtype))
        quantization = std::make_shared<const Quantization>(*value.quantization);
      Shape shape = value.shape;
      for (std::int64_t& d : shape) d = d < 0 ? 1 : d;
      sample.inputs.push_back(
          md::sample(value.dtype, shape, std::move(quantization), recipe, position++, limits));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

double work_of(const Model& model, int graph_index) {
  Site site;
  site.graph = graph_index;
  site.before = model.graphs[static_cast<std::size_t>(graph_index)].order;
  return SiteRunner(model, model, site).work(1);
}

std::string element_of(const Shape& shape, std::size_t element) {
  const auto strides = strides_of(shape);
  std::string text;
  for (std::size_t d = 0; d < shape.size(); ++d)
    text += fmt::format("{}{}", d ? "," : "",
                        strides[d] ? static_cast<std::int64_t>(element) / strides[d] % shape[d] : 0);
  return "[" + text + "]";
}

/// Rows with the same largest element, and rows.
std::pair<std::int64_t, std::int64_t> argmax_rows(const Tensor& a, const Tensor& b) {
  if (a.rank() < 2 || a.rank() > 3 || a.shape.back() < 2 || a.shape != b.shape ||
      (!a.is_float() && !a.quantization))
    return {0, 0};
  const auto x = a.numbers(), y = b.numbers();
  const auto n = static_cast<std::ptrdiff_t>(a.shape.back());
  std::int64_t same = 0, rows = 0;
  for (std::ptrdiff_t at = 0; at + n <= static_cast<std::ptrdiff_t>(x.size()); at += n, ++rows)
    same += std::max_element(x.begin() + at, x.begin() + at + n) - x.begin() ==
            std::max_element(y.begin() + at, y.begin() + at + n) - y.begin();
  return {same, rows};
}

/// Outputs of one sample, in A's order.
struct Outputs {
  std::vector<Tensor> a, b;
  std::vector<Tensor> exact;  ///< A in double; empty when not needed
};

bool identical(const Outputs& o) {
  for (std::size_t k = 0; k < o.a.size(); ++k)
    if (o.a[k].shape != o.b[k].shape || compare_tensors(o.a[k], o.b[k]).differing > 0) return false;
  return true;
}

/// Whether output k may be as it is; counts elements where A itself leaves the range of floats.
bool acceptable(const CompareOptions& options, const Outputs& o, std::size_t k, std::int64_t& left_range) {
  const Tensor& p = o.a[k];
  const Tensor& q = o.b[k];
  if (p.shape != q.shape) return false;
  const auto x = p.real_values(), y = q.real_values();
  const auto exact = k < o.exact.size() ? o.exact[k].real_values() : std::vector<double>{};
  double largest = 0, own_error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i])) largest = std::max(largest, std::abs(x[i]));
    if (i < exact.size() && std::isfinite(x[i]) && std::isfinite(exact[i]))
      own_error = std::max(own_error, std::abs(x[i] - exact[i]));
  }
  const double step =
      !p.is_float() && p.quantization ? static_cast<double>(p.quantization->scale[0]) * 1.0001 : 0;
  const bool stated = options.rtol || options.atol;
  const double relative = options.exactness == Exactness::bounded ? options.max_error : summed_error;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double apart = std::abs(x[i] - y[i]);
    if (!std::isfinite(x[i])) {
      // B may do better than A, or (unless every bit was promised) leave the range another way.
      const bool better = i < exact.size() && std::isfinite(exact[i]) &&
                          std::abs(y[i] - exact[i]) <= 1e-5 * std::abs(exact[i]);
      if (!better && options.exactness == Exactness::exact && !stated && !options.nonfinite_stated)
        return false;
      ++left_range;
      continue;
    }
    if (!std::isfinite(y[i])) return false;
    if (stated ? apart > options.atol.value_or(0) + options.rtol.value_or(0) * std::abs(x[i])
               : options.exactness == Exactness::exact || apart > relative * largest + 8 * own_error + step)
      return false;
  }
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

/// Collects the samples into the result.
class Tally {
 public:
  Tally(ModelComparison& result, const CompareOptions& options) : result_(result), options_(options) {}

  /// False when an output of this sample differs more than it may.
  bool add(const Outputs& o, const std::string& text, bool ordinary) {
    result_.evaluated = true;
    ++result_.samples;
    ++(ordinary ? result_.ordinary : result_.extreme).samples;
    bool good = true;
    for (std::size_t k = 0; k < o.a.size(); ++k) {
      const Tensor& x = o.a[k];
      const Tensor& y = o.b[k];
      OutputComparison& output = result_.outputs[k];
      output.shape = x.shape, output.dtype = x.dtype;
      ++(ordinary ? output.ordinary : output.extreme).samples;
      const Difference d = compare_tensors(x, y);
      const bool fine = acceptable(options_, o, k, left_range_);
      output.equal = output.equal && fine;
      good = good && fine;
      // Where A's own rounding is that far from the exact result, being as far says nothing about B.
      const double promised = options_.exactness == Exactness::bounded ? options_.max_error : summed_error;
      if (fine && x.is_float() && !options_.rtol && !options_.atol && d.max_rel > promised) {
        ++ill_conditioned_;
        continue;
      }
      if (d.differing && d.same_shape && d.worst < x.size() && tells_more(output, k, d, fine, ordinary))
        output.where =
            fmt::format("{}: {} in A, {} in B ({})", element_of(x.shape, d.worst),
                        short_number(x.real_values()[d.worst]), short_number(y.real_values()[d.worst]), text);
      if (!d.same_shape)
        output.where = fmt::format("shape {} in A, {} in B", shape_text(x.shape), shape_text(y.shape));
      output.max_abs = std::max(output.max_abs, d.max_abs),
      output.max_rel = std::max(output.max_rel, d.max_rel),
      output.max_ulp = std::max(output.max_ulp, d.max_ulp);
      output.nonfinite += d.nonfinite;
      note_difference(ordinary ? output.ordinary : output.extreme, d);
      note_difference(ordinary ? result_.ordinary : result_.extreme, d);
      const auto [same, total] = argmax_rows(x, y);
      same_rows_ += same, rows_ += total;
      result_.max_abs = std::max(result_.max_abs, d.max_abs),
      result_.max_rel = std::max(result_.max_rel, d.max_rel),
      result_.max_ulp = std::max(result_.max_ulp, d.max_ulp);
    }
    all_good_ = all_good_ && good;
    return good;
  }

  void finish() {
    if (rows_ > 0) result_.argmax_agreement = static_cast<double>(same_rows_) / static_cast<double>(rows_);
    if (left_range_ > 0)
      result_.note = fmt::format("{} elements leave the range of floats in A on extreme inputs", left_range_);
    if (ill_conditioned_ > 0)
      result_.note += fmt::format(
          "{}on {} samples the first model's own rounding errors are as large as the differences, which are "
          "not counted",
          result_.note.empty() ? "" : "; ", ill_conditioned_);
    result_.equal = result_.evaluated && all_good_ && result_.interface_differences.empty();
  }

 private:
  /// Whether this difference is the one to show: what is not allowed before what is, ordinary inputs before
  /// extremes, then the larger.
  bool tells_more(const OutputComparison& output, std::size_t k, const Difference& d, bool fine,
                  bool ordinary) {
    shown_.resize(result_.outputs.size(), -1);
    const int rank = (fine ? 0 : 2) + (ordinary ? 1 : 0);
    const double before = (ordinary ? output.ordinary : output.extreme).max_abs;
    if (rank < shown_[k] || (rank == shown_[k] && d.nonfinite == 0 && d.max_abs <= before)) return false;
    shown_[k] = rank;
    return true;
  }

  ModelComparison& result_;
  const CompareOptions& options_;
  std::vector<int> shown_;  ///< by output: the rank of the difference that `where` shows, -1: none
  std::int64_t same_rows_ = 0, rows_ = 0, left_range_ = 0;
  int ill_conditioned_ = 0;
  bool all_good_ = true;
};

/// Runs A keeping named values, then B against them.
std::string first_parting(const Model& a, const Model& b, const CompareOptions& options,
                          const std::vector<Tensor>& inputs, const std::vector<Tensor>& inputs_b) {
  const Graph& graph_a = a.graphs[static_cast<std::size_t>(options.graph_a)];
  const Graph& graph_b = b.graphs[static_cast<std::size_t>(options.graph_b)];
  std::unordered_map<std::string, Tensor> kept;
  std::int64_t bytes = 0;
  EvaluateOptions run;
  run.max_bytes = options.max_bytes;
  run.observe = [&](const Graph& graph, NodeId node, int output, const Tensor& tensor, double) {
    const Value& value = graph.value(graph.node(node).outputs[static_cast<std::size_t>(output)]);
    if (&graph != &graph_a || value.name.empty() || bytes > trace_limit) return;
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
    if (d.nonfinite == 0 && !(d.max_rel > 1e-5)) return;
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
  options.max_error = fp16 ? 3e-2 : 1e-3;
  return options;
}

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
  if (graph_a.inputs.size() != graph_b.inputs.size() || graph_a.outputs.size() != graph_b.outputs.size()) {
    result.note = "the numbers of inputs or outputs differ";
    return result;
  }
  for (const Model* model : {&a, &b})
    if (const auto missing = missing_kernels(*model); !missing.empty()) {
      result.note = "not evaluated: no kernel for " + missing[0];
      return result;
    }
  if (const auto fits = inputs_fit(a, options.graph_a, options.max_bytes); !fits && options.inputs.empty()) {
    result.note = "not evaluated: " + fits.error().message;
    return result;
  }
  const auto input_at = matched_values(graph_a, graph_a.inputs, graph_b, graph_b.inputs),
             output_at = matched_values(graph_a, graph_a.outputs, graph_b, graph_b.outputs);
  result.outputs = named_outputs(graph_a);
  const double work = work_of(a, options.graph_a) + work_of(b, options.graph_b);
  const auto samples = make_samples(a, options, 2 * work, result.input_source);
  EvaluateOptions plain, judge;
  plain.max_bytes = judge.max_bytes = options.max_bytes;
  judge.mode.arithmetic = Arithmetic::f64;
  Tally tally(result, options);
  bool looked = false;
  EvaluateOptions other = plain;
  other.mode = options.mode_b;
  for (const Sample& sample : samples) {
    std::vector<Tensor> inputs_b(sample.inputs.size());
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      const Value& to = graph_b.value(graph_b.inputs[input_at[i]]);
      const Tensor& from = sample.inputs[i];
      const Tensor typed = to.dtype == from.dtype ? from : Tensor::of(to.dtype, from.shape, from.numbers());
      inputs_b[input_at[i]] = under_declared_shape(typed, graph_a.value(graph_a.inputs[i]), to);
    }
    Outputs o;
    auto run_a = evaluate(a, options.graph_a, sample.inputs, plain);
    if (!run_a) {
      result.note = run_a.error().message;
      continue;
    }
    auto run_b = evaluate(b, options.graph_b, inputs_b, other);
    if (!run_b) {
      result.note = "B cannot be evaluated where A can: " + run_b.error().message;
      return result;
    }
    o.a = std::move(*run_a);
    for (std::size_t k = 0; k < output_at.size(); ++k)
      o.b.push_back(under_declared_shape((*run_b)[output_at[k]], graph_b.value(graph_b.outputs[output_at[k]]),
                                         graph_a.value(graph_a.outputs[k])));
    if (!identical(o)) {
      if (auto exact = evaluate(a, options.graph_a, sample.inputs, judge)) o.exact = std::move(*exact);
    }
    const bool good = tally.add(o, sample.text, is_ordinary(sample));
    if (!good && options.find_layer && !looked) {
      looked = true;
      result.first_layer = first_parting(a, b, options, sample.inputs, inputs_b);
    }
    if (options.fp16_yardstick && !result.fp16_error)
      result.fp16_error = own_fp16_error(a, options, sample.inputs, o.a);
  }
  tally.finish();
  return result;
}

ModelComparison compare_outputs(const Model& a, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& outputs, const CompareOptions& options) {
  ModelComparison result;
  const Graph& graph = a.graphs[static_cast<std::size_t>(options.graph_a)];
  result.outputs = named_outputs(graph);
  result.input_source = "1 given sample";
  EvaluateOptions plain, judge;
  plain.max_bytes = judge.max_bytes = options.max_bytes;
  judge.mode.arithmetic = Arithmetic::f64;
  auto run = evaluate(a, options.graph_a, inputs, plain);
  if (!run) {
    result.note = run.error().message;
    return result;
  }
  if (run->size() != outputs.size()) {
    result.note = "the numbers of outputs differ";
    return result;
  }
  Outputs o{std::move(*run), outputs, {}};
  if (!identical(o))
    if (auto exact = evaluate(a, options.graph_a, inputs, judge)) o.exact = std::move(*exact);
  Tally tally(result, options);
  tally.add(o, "given sample", true);
  if (options.fp16_yardstick) result.fp16_error = own_fp16_error(a, options, inputs, o.a);
  tally.finish();
  return result;
}

}  // namespace md
