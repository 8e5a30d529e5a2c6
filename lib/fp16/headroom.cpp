#include "lib/fp16/headroom.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lib/eval/fold.h"
#include "lib/eval/index_limit.h"
#include "lib/eval/limits.h"
#include "lib/eval/samples.h"

namespace md {
namespace {

double magnitude_of(const Tensor& tensor) {
  double largest = 0;
  const auto scan = [&](auto zero) {
    for (const auto v : tensor.data<decltype(zero)>()) {
      const double m = std::abs(static_cast<double>(v));
      if (m > largest && std::isfinite(m)) largest = m;  // an infinity that was put there is no overflow
    }
  };
  if (tensor.store() == Store::f64)
    scan(double{});
  else if (tensor.store() == Store::f32)
    scan(float{});
  return largest;
}

/// Dynamic dimensions get this size when nothing says another.
constexpr std::int64_t assumed_size = 1;

Shape known_shape(const Value& value) {
  Shape shape = value.shape;
  for (std::int64_t& d : shape)
    if (d < 0) d = assumed_size;
  return shape;
}

std::optional<std::pair<double, double>> calibrated(const Value& value) {
  if (!value.quantization || value.quantization->min.empty() || value.quantization->max.empty())
    return std::nullopt;
  const double low =
      static_cast<double>(*std::min_element(value.quantization->min.begin(), value.quantization->min.end()));
  const double high =
      static_cast<double>(*std::max_element(value.quantization->max.begin(), value.quantization->max.end()));
  if (!(low < high) || !std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  return std::pair(low, high);
}

Tensor uniform(const Value& value, double low, double high, std::uint64_t seed) {
  Random random(seed);
  const Shape shape = known_shape(value);
  std::vector<double> numbers(static_cast<std::size_t>(element_count(shape).value_or(0)));
  for (double& v : numbers) v = low + (high - low) * random.uniform();
  // The ends of a range are part of it, and what overflows first.
  if (numbers.size() >= 2) numbers.front() = high, numbers.back() = low;
  return Tensor::of(value.dtype, shape, numbers);
}

EvaluateOptions judge(std::int64_t max_bytes) {
  EvaluateOptions options;
  options.mode.arithmetic = Arithmetic::f64;
  options.watch_sums = true;
  options.max_bytes = max_bytes;
  return options;
}

/// Inputs of about one magnitude: [m, 2m] with signs, as activations after a large projection are.
Tensor of_magnitude(const Value& value, double magnitude, std::uint64_t seed) {
  Random random(seed);
  const Shape shape = known_shape(value);
  std::vector<double> numbers(static_cast<std::size_t>(element_count(shape).value_or(0)));
  for (double& v : numbers) v = magnitude * (1 + random.uniform()) * (random.below(2) ? 1 : -1);
  return Tensor::of(value.dtype, shape, numbers);
}

}  // namespace

double ValueHeadroom::bits() const {
  const double top = std::max(largest, largest_sum);
  if (top == 0) return std::numeric_limits<double>::infinity();
  return std::log2(largest_f16 / top);
}

const ValueHeadroom* Headroom::first_overflow() const {
  for (const ValueHeadroom& v : values)
    if (v.overflows()) return &v;
  return nullptr;
}

std::vector<Tensor> plausible_inputs(const Model& model, int graph_index, const HeadroomOptions& options,
                                     int sample_index, InputSource* source) {
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  std::vector<Tensor> inputs;
  int known = 0, floats = 0, position = 0;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    const std::uint64_t seed = options.seed * 1000003u + static_cast<std::uint64_t>(sample_index) * 101u +
                               static_cast<std::uint64_t>(position);
    std::optional<std::pair<double, double>> range;
    if (const auto at = options.ranges.find(value.name); at != options.ranges.end())
      range = at->second;
    else
      range = calibrated(value);
    if (is_float(value.dtype)) {
      ++floats;
      if (range) {
        ++known;
        inputs.push_back(uniform(value, range->first, range->second, seed));
      } else {
        const Recipe recipe{sample_index % 2 ? Recipe::Kind::uniform : Recipe::Kind::normal, 1, seed, ""};
        inputs.push_back(sample(value.dtype, known_shape(value), nullptr, recipe, position));
      }
    } else {
      SampleLimits limits;
      limits.index_limit = index_limit(graph, graph.order, id);
      std::shared_ptr<const Quantization> quantization;
      if (value.quantization && !value.quantization->scale.empty())
        quantization = std::make_shared<const Quantization>(*value.quantization);
      const Recipe recipe{Recipe::Kind::normal, 1, seed, ""};
      inputs.push_back(
          sample(value.dtype, known_shape(value), std::move(quantization), recipe, position, limits));
    }
    ++position;
  }
  if (source) {
    source->kind = known > 0 ? InputSource::Kind::ranges : InputSource::Kind::random;
    source->text = known == 0 ? "random numbers: normal with deviation 1, uniform in [-1, 1]"
                              : fmt::format("random numbers in the ranges known for {} of {} float inputs",
                                            known, floats);
  }
  return inputs;
}

Headroom analyze_headroom(const Model& model, int graph_index, const HeadroomOptions& options) {
  Headroom result;
  if (graph_index < 0 || static_cast<std::size_t>(graph_index) >= model.graphs.size()) {
    result.note = fmt::format("there is no graph {}", graph_index);
    return result;
  }
  const bool given = !options.inputs.empty();
  if (const auto fits = inputs_fit(model, graph_index, options.max_bytes); !fits && !given) {
    result.note = fits.error().message;
    return result;
  }
  const Graph& main = model.graphs[static_cast<std::size_t>(graph_index)];
  std::map<std::pair<NodeId, int>, std::size_t> row;
  const int samples = given ? static_cast<int>(options.inputs.size()) : std::max(1, options.samples);
  for (int s = 0; s < samples; ++s) {
    EvaluateOptions run = judge(options.max_bytes);
    run.observe = [&](const Graph& graph, NodeId node, int output, const Tensor& tensor, double sum) {
      if (&graph != &main || !tensor.is_float()) return;
      const auto [at, fresh] = row.try_emplace({node, output}, result.values.size());
      if (fresh) {
        ValueHeadroom v;
        v.node = node, v.value = graph.node(node).outputs[static_cast<std::size_t>(output)];
        result.values.push_back(v);
      }
      ValueHeadroom& v = result.values[at->second];
      const double largest = magnitude_of(tensor);
      if (largest > v.largest || v.sample < 0) v.sample = s;
      v.largest = std::max(v.largest, largest);
      v.largest_sum = std::max(v.largest_sum, sum);
    };
    const auto inputs = given ? options.inputs[static_cast<std::size_t>(s)]
                              : plausible_inputs(model, graph_index, options, s, &result.source);
    if (const auto done = evaluate(model, graph_index, inputs, run); !done) {
      result.note = done.error().message;
      break;
    }
  }
  if (given)
    result.source = {InputSource::Kind::given,
                     fmt::format("{} given sample{}", samples, samples == 1 ? "" : "s")};
  return result;
}

SiteOverflow site_overflow(const Model& model, int graph_index, const std::vector<NodeId>& nodes,
                           const HeadroomOptions& options) {
  SiteOverflow result;
  const Graph& graph = model.graphs[static_cast<std::size_t>(graph_index)];
  std::set<ValueId> made, outside;
  for (const NodeId id : nodes) {
    for (const ValueId v : graph.node(id).inputs)
      if (v != none_id && !graph.value(v).is_constant() && !made.count(v)) outside.insert(v);
    for (const ValueId v : graph.node(id).outputs) made.insert(v);
  }
  TensorMap fixed;
  std::vector<ValueId> free;
  for (const ValueId v : outside) {
    if (depends_on_constants_only(graph, v)) {
      auto tensor = fold_value(model, graph_index, v);
      if (!tensor) {
        result.text = tensor.error().message;
        return result;
      }
      fixed[v] = std::move(*tensor);
    } else {
      free.push_back(v);
    }
  }
  static constexpr double magnitudes[] = {1, 10, 100, 300, 1000, 2000, 30000};
  for (const double magnitude : magnitudes) {
    TensorMap known = fixed;
    std::uint64_t seed = options.seed * 7919u;
    for (const ValueId v : free) {
      const Value& value = graph.value(v);
      const Recipe recipe{Recipe::Kind::normal, 1, ++seed, ""};
      SampleLimits limits;
      limits.index_limit = index_limit(graph, nodes, v);
      std::shared_ptr<const Quantization> quantization;
      if (value.quantization && !is_float(value.dtype))
        quantization = std::make_shared<const Quantization>(*value.quantization);
      known[v] = is_float(value.dtype)
                     ? of_magnitude(value, magnitude, seed)
                     : sample(value.dtype, known_shape(value), quantization, recipe, 0, limits);
    }
    EvaluateOptions run = judge(options.max_bytes);
    run.observe = [&](const Graph&, NodeId node, int output, const Tensor& tensor, double sum) {
      if (result.overflows || !tensor.is_float()) return;
      const double largest = std::max(magnitude_of(tensor), sum);
      if (!(largest > largest_f16)) return;
      result.overflows = true;
      result.value = graph.node(node).outputs[static_cast<std::size_t>(output)];
      result.magnitude = magnitude;
      result.reaches = largest;
    };
    if (const auto done = evaluate_nodes(model, graph_index, nodes, std::move(known), {}, run); !done) {
      result.text = done.error().message;
      return result;
    }
    result.evaluated = true;
    if (result.overflows) break;
  }
  if (!result.overflows) {
    result.text = "nothing in it passes 65504 for inputs up to 60000";
    return result;
  }
  result.text = fmt::format("with inputs of {:g} to {:g} \"{}\" reaches {:.3g}", result.magnitude,
                            2 * result.magnitude, graph.value(result.value).name, result.reaches);
  const Headroom whole = analyze_headroom(model, graph_index, options);
  if (!whole.note.empty()) return result;
  for (const ValueHeadroom& v : whole.values) {
    if (!v.overflows() || std::find(nodes.begin(), nodes.end(), v.node) == nodes.end()) continue;
    result.likely = true;
    result.value = v.value, result.reaches = std::max(v.largest, v.largest_sum);
    result.text = fmt::format("with {} \"{}\" reaches {:.3g}", whole.source.text, graph.value(v.value).name,
                              result.reaches);
    break;
  }
  return result;
}

}  // namespace md
