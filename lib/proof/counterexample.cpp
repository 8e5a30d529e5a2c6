#include "lib/proof/counterexample.h"

#include <fmt/format.h>

#include "lib/eval/budget.h"
#include "lib/eval/difference.h"
#include "lib/eval/kernel.h"
#include "lib/proof/shrink.h"

namespace md {
namespace {

constexpr int most_runs = 96, fewest_runs = 8;
constexpr std::uint64_t control_seed = 77;
constexpr std::size_t shown = 4;  // numbers of one input that are printed

std::string element_text(const Shape& shape, std::size_t element) {
  if (shape.empty() || element_count(shape) == 1) return "";
  const auto strides = strides_of(shape);
  std::string text;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!text.empty()) text += ',';
    text += std::to_string(strides[d] ? static_cast<std::int64_t>(element) / strides[d] % shape[d] : 0);
  }
  return "[" + text + "]";
}

Tensor with_numbers(const Tensor& like, Shape shape, std::span<const double> numbers) {
  Tensor t = like.is_float() || like.lanes() == 2
                 ? Tensor::of(like.dtype, std::move(shape), numbers)
                 : Tensor::of_integers(like.dtype, std::move(shape),
                                       std::vector<std::int64_t>(numbers.begin(), numbers.end()));
  t.quantization = like.quantization;
  return t;
}

/// The element of an operand that output element `element` reads, when everything broadcasts.
std::optional<std::size_t> broadcast_element(const Shape& operand, const Shape& output, std::size_t element) {
  if (operand.size() > output.size()) return std::nullopt;
  const auto out_steps = strides_of(output), in_steps = strides_of(operand);
  std::size_t at = 0;
  for (std::size_t d = 0; d < operand.size(); ++d) {
    const std::size_t o = output.size() - operand.size() + d;
    if (operand[d] == 1) continue;
    if (operand[d] != output[o]) return std::nullopt;
    at +=
        static_cast<std::size_t>(static_cast<std::int64_t>(element) / out_steps[o] % output[o] * in_steps[d]);
  }
  return at;
}

/// The same inputs cut to one element each; works where all nodes are elementwise and constants have one
/// element.
bool shrink_to_element(TensorMap& inputs, Disagreement& found, const Differ& differ) {
  if (!found.text.empty()) return false;
  TensorMap small;
  for (const auto& [id, tensor] : inputs) {
    const auto at = broadcast_element(tensor.shape, found.shape, found.element);
    if (!at || tensor.lanes() != 1) return false;
    const double v = tensor.number(*at);
    small[id] = with_numbers(tensor, Shape(tensor.shape.size(), 1), std::span(&v, 1));
  }
  const auto still = differ(small);
  if (!still || !still->text.empty()) return false;
  inputs = std::move(small), found = *still;
  return true;
}

enum class Part { first, around, last };

/// The first elements of the inputs, those around output element `found`, or the last ones; nullopt when that
/// is the first part again.
std::optional<TensorMap> part_of(const TensorMap& inputs, const InputShapes& shapes, Part which,
                                 const Disagreement& found) {
  TensorMap part;
  bool moved = false;
  const auto steps = strides_of(found.shape);
  for (const auto& [id, tensor] : inputs) {
    const Shape& shape = shapes.at(id);
    Shape start(shape.size(), 0);
    for (std::size_t d = 0; which != Part::first && d < shape.size(); ++d) {
      const std::int64_t end = tensor.shape[d] - shape[d];
      if (which == Part::last) {
        start[d] = end;
      } else if (shape.size() <= found.shape.size()) {
        const std::size_t o = found.shape.size() - shape.size() + d;
        if (tensor.shape[d] != found.shape[o] || steps[o] == 0) continue;
        const std::int64_t at = static_cast<std::int64_t>(found.element) / steps[o] % found.shape[o];
        start[d] = std::clamp<std::int64_t>(at - shape[d] / 2, 0, end);
      }
      moved = moved || start[d] > 0;
    }
    part[id] = crop(tensor, shape, start);
  }
  if (which != Part::first && !moved) return std::nullopt;
  return part;
}

/// Smaller inputs on which the versions still differ. `control`: inputs on which they agree, and must do so
/// on the smaller shape too (a factor 1/N in the site is not the fault that is looked for); empty: none are
/// known.
void shrink_inputs(TensorMap& inputs, TensorMap control, Disagreement& found, const Differ& differ,
                   int runs) {
  InputShapes shapes;
  for (const auto& [id, tensor] : inputs) {
    if (tensor.lanes() != 1) return;
    shapes[id] = tensor.shape;
  }
  const auto holds = [&](const InputShapes& smaller) {
    std::optional<TensorMap> calm;
    if (!control.empty()) {
      calm = part_of(control, smaller, Part::first, found);
      if (differ(*calm)) return false;
    }
    for (const Part which : {Part::first, Part::around, Part::last}) {
      auto part = part_of(inputs, smaller, which, found);
      if (!part) continue;
      const auto still = differ(*part);
      if (!still || !still->text.empty()) continue;
      inputs = std::move(*part), found = *still;
      if (calm) control = std::move(*calm);
      return true;
    }
    return false;
  };
  shrink_shapes(shapes, 1, holds, runs);
}

/// Halves of inputs set to zero while a difference remains.
void zero_what_does_not_matter(TensorMap& inputs, Disagreement& found, const Differ& differ, int budget) {
  int runs = 0;
  for (auto& [id, tensor] : inputs) {
    if (tensor.lanes() != 1) continue;
    std::size_t block = tensor.size();
    while (block > 0 && runs < budget) {
      for (std::size_t at = 0; at < tensor.size() && runs < budget; at += block) {
        std::vector<double> numbers = tensor.numbers();
        bool any = false;
        for (std::size_t i = at; i < std::min(at + block, numbers.size()); ++i)
          any = any || numbers[i] != 0, numbers[i] = 0;
        if (!any) continue;
        TensorMap trial = inputs;
        trial[id] = with_numbers(tensor, tensor.shape, numbers);
        ++runs;
        if (const auto still = differ(trial)) {
          tensor = trial[id];
          found = *still;
        }
      }
      if (block == 1) break;
      block /= 2;
    }
  }
}

/// Numbers that are easier to read than `v`, the easiest first.
std::vector<double> simpler(double v, bool is_float) {
  std::vector<double> numbers = {1};
  if (v < 0) numbers.push_back(-1);
  if (is_float && std::isfinite(v) && v != 0) {
    numbers.push_back(std::trunc(v));
    const double unit = std::pow(10.0, std::floor(std::log10(std::abs(v))));
    numbers.push_back(std::trunc(v / unit) * unit);
  }
  std::vector<double> fit;
  for (const double n : numbers) {
    if (n == v || n == 0) break;  // what follows is no easier
    if (std::isfinite(n)) fit.push_back(n);
  }
  return fit;
}

/// Numbers that remain become 1, whole or round where the difference stays.
void simplify_numbers(TensorMap& inputs, Disagreement& found, const Differ& differ, int budget) {
  int runs = 0;
  for (auto& [id, tensor] : inputs) {
    if (tensor.lanes() != 1 || tensor.dtype == DType::boolean || tensor.size() > shown * 16) continue;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      std::vector<double> numbers = tensor.numbers();
      if (numbers[i] == 0) continue;
      for (const double simple : simpler(numbers[i], tensor.is_float())) {
        if (runs++ >= budget) return;
        TensorMap trial = inputs;
        numbers[i] = simple;
        trial[id] = with_numbers(tensor, tensor.shape, numbers);
        const auto still = differ(trial);
        if (!still || still->text.empty() != found.text.empty()) continue;
        tensor = trial[id], found = *still;
        break;
      }
    }
  }
}

std::string input_text(const SiteRunner& runner, const TensorMap& inputs) {
  std::string text;
  for (const auto& [id, tensor] : std::map<ValueId, Tensor>(inputs.begin(), inputs.end())) {
    const std::string& name = runner.input_value(id).name;
    const std::string label = inputs.size() == 1 || name.empty() ? "input" : "\"" + name + "\"";
    if (!text.empty()) text += ", ";
    if (tensor.size() == 1) {
      text += fmt::format("{} {}", label, short_number(tensor.number(0)));
      continue;
    }
    std::string numbers;
    std::size_t nonzero = 0;
    for (std::size_t i = 0; i < tensor.size() * static_cast<std::size_t>(tensor.lanes()); ++i) {
      if (tensor.number(i) == 0) continue;
      if (++nonzero <= shown)
        numbers += fmt::format("{}{}={}", numbers.empty() ? "" : " ",
                               element_text(tensor.shape, i / static_cast<std::size_t>(tensor.lanes())),
                               short_number(tensor.number(i)));
    }
    if (nonzero == 0)
      text += fmt::format("{} {} of zeros", label, shape_text(tensor.shape));
    else if (nonzero <= shown)
      text += fmt::format("{} {} with {} and zeros elsewhere", label, shape_text(tensor.shape), numbers);
    else
      text += fmt::format("{} {} with {} and {} more numbers", label, shape_text(tensor.shape), numbers,
                          nonzero - shown);
  }
  return text;
}

}  // namespace

std::string minimized_counterexample(const SiteRunner& runner, TensorMap inputs, Disagreement found,
                                     const Differ& differ) {
  const int runs = std::max(fewest_runs, budget_of_counterexample.runs(runner.work(1), most_runs));
  if (!shrink_to_element(inputs, found, differ)) {
    if (found.text.empty()) {
      std::int64_t open = 1;  // what dynamic dimensions are in this sample
      for (const auto& [id, tensor] : inputs)
        for (std::size_t d = 0; d < tensor.shape.size(); ++d)
          if (const Shape& declared = runner.input_value(id).shape; d < declared.size() && declared[d] < 0)
            open = tensor.shape[d];
      TensorMap control = runner.sample_inputs({Recipe::Kind::normal, 1, control_seed, ""}, open);
      if (differ(control)) control.clear();
      shrink_inputs(inputs, std::move(control), found, differ, runs);
    }
    zero_what_does_not_matter(inputs, found, differ, runs);
  }
  simplify_numbers(inputs, found, differ, runs);
  const std::string given =
      inputs.empty() ? std::string("the site, which has no run-time input,") : input_text(runner, inputs);
  if (!found.text.empty()) return fmt::format("{}: {}", given, found.text);
  const auto& [old_value, new_value] = runner.site().outputs[found.output];
  const std::string& name = runner.old_graph().value(old_value).name;
  const std::string where = element_text(found.shape, found.element);
  const std::string output =
      runner.site().outputs.size() > 1 || !where.empty()
          ? fmt::format(" at {}{}", runner.site().outputs.size() > 1 ? "\"" + name + "\"" : "", where)
          : "";
  return fmt::format("{} gives {} before, {} after{}", given, short_number(found.before),
                     short_number(found.after), output);
}

}  // namespace md
