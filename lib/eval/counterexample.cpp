#include "lib/eval/counterexample.h"

#include <fmt/format.h>

#include "lib/eval/difference.h"
#include "lib/eval/kernel.h"

namespace md {
namespace {

constexpr int budget = 64;        // runs spent on making one counterexample smaller
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

/// Halves of inputs set to zero while a difference remains.
void zero_what_does_not_matter(TensorMap& inputs, Disagreement& found, const Differ& differ) {
  int runs = 0;
  for (auto& [id, tensor] : inputs) {
    if (!tensor.is_float() || tensor.lanes() != 1) continue;
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
  if (!shrink_to_element(inputs, found, differ)) zero_what_does_not_matter(inputs, found, differ);
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
