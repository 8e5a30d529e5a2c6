#include "lib/proof/model_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/eval/budget.h"
#include "lib/eval/index_limit.h"
#include "lib/eval/samples.h"
#include "lib/fp16/headroom.h"
#include "lib/proof/tolerance.h"

namespace md {
namespace {

// |inputs| that models meet: pixels, tokens, logits, audio. Above it absolute differences are as huge as the
// values.
constexpr double ordinary_limit = 1000;

/// A sample by one recipe.
ModelSample made(const Graph& graph, const CompareOptions& options, const Recipe& recipe) {
  ModelSample sample;
  sample.text = recipe.text;
  sample.given = std::all_of(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) {
    return !is_float(graph.value(id).dtype) || options.ranges.contains(graph.value(id).name);
  });
  int position = 0;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    SampleLimits limits;
    limits.index_limit = index_limit(graph, graph.order, id);
    if (options.exactness != Exactness::exact) limits.largest = summable_limit;
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
  return sample;
}

}  // namespace

bool is_ordinary(const ModelSample& sample) {
  return sample.given || std::all_of(sample.inputs.begin(), sample.inputs.end(), [](const Tensor& input) {
           if (!input.is_float()) return true;
           const std::vector<double> numbers = input.numbers();
           return std::all_of(numbers.begin(), numbers.end(),
                              [](double v) { return std::abs(v) <= ordinary_limit; });
         });
}

std::vector<ModelSample> make_samples(const Model& model, const CompareOptions& options, double work,
                                      std::string& source) {
  std::vector<ModelSample> samples;
  if (!options.inputs.empty()) {
    for (std::size_t i = 0; i < options.inputs.size(); ++i)
      samples.push_back({options.inputs[i], fmt::format("given sample {}", i + 1), true});
    source = fmt::format("{} given sample{}", samples.size(), samples.size() == 1 ? "" : "s");
    if (!options.also_generated) return samples;
  }
  const Graph& graph = model.graphs[static_cast<std::size_t>(options.graph_a)];
  const int count = std::max(1, budget_of_models.runs(work, std::max(1, options.samples)));
  HeadroomOptions plausible;
  plausible.ranges = options.ranges;
  plausible.seed = options.seed;
  InputSource from;
  samples.push_back({plausible_inputs(model, options.graph_a, plausible, 0, &from),
                     from.kind == InputSource::Kind::random ? "normal, scale 1" : "in the known ranges",
                     true});
  source += (source.empty() ? "" : ", ") + from.text + (count > 1 ? ", then extremes and other scales" : "");
  for (const Recipe& recipe : finite_recipes(count - 1, options.seed)) {
    samples.push_back(made(graph, options, recipe));
  }
  return samples;
}

}  // namespace md
