// Runs one detector on a model in text form and applies what it proposes.
#pragma once
#include <algorithm>
#include <string>

#include "lib/edit/apply.h"
#include "lib/eval/evaluator.h"
#include "lib/op/dialect.h"
#include "lib/op/text.h"
#include "lib/rule/page/rule.h"
#include "test/catch.h"

namespace detector_check {

using namespace md;

/// Lists among the operands become constants of their own: RESHAPE(%x, [1, 4]) reads `const %k0 : i32[2] =
/// [1, 4]`.
inline std::string with_constants(std::string_view text) {
  std::string result;
  int count = 0;
  while (!text.empty()) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t call = line.find('(');
    const bool statement = line.rfind("const", 0) != 0 && call != std::string::npos;
    for (std::size_t open; statement && (open = line.find('[', call)) < line.find(')', call);) {
      const std::size_t close = line.find(']', open);
      const std::string list = line.substr(open, close - open + 1);
      const auto numbers = std::count(list.begin(), list.end(), ',') + 1;
      const std::string name = "%list" + std::to_string(count++);
      result += "const " + name + (list.find('.') != std::string::npos ? " : f32[" : " : i32[") +
                std::to_string(numbers) + "] = " + list + "\n";
      line.replace(open, list.size(), name);
    }
    result += line + "\n";
  }
  return result;
}

inline Model parse(std::string_view text) {
  auto model = parse_model("test", 1, with_constants(text), dialect("tflite"));
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return std::move(*model);
}

/// What the rule finds, its page and its detector together.
inline std::vector<DetectResult> by_rule(std::string_view id, const DetectContext& context) {
  static const RuleBook book = *RuleBook::load();
  const Rule* rule = book.find(id);
  REQUIRE(rule);
  return run_rule(*rule, context);
}

/// Small distinct numbers, so that every mixed up element shows.
inline std::vector<Tensor> inputs_of(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    const Value& v = graph.value(id);
    std::vector<double> numbers(static_cast<std::size_t>(*element_count(v.shape)));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = v.dtype == DType::i8 ? static_cast<double>(i % 251) - 125
                                        : static_cast<double>((i * 37) % 1009) / 8 - 60;
    inputs.push_back(Tensor::of(v.dtype, v.shape, numbers));
    if (v.quantization) inputs.back().quantization = std::make_shared<Quantization>(*v.quantization);
  }
  return inputs;
}

inline std::vector<std::vector<double>> outputs_of(const Model& model, std::span<const Tensor> inputs) {
  auto result = evaluate(model, 0, inputs);
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  std::vector<std::vector<double>> numbers;
  for (const Tensor& t : *result) numbers.push_back(t.numbers());
  return numbers;
}

inline Model mended(const Model& model, Detector detect) {
  const auto found = detect({model, 0, model.graphs[0]});
  REQUIRE(found.size() == 1);
  INFO(found[0].reason);
  REQUIRE(found[0].state == DetectResult::State::matched);
  REQUIRE_FALSE(found[0].fixes.empty());
  const Patch patch = found[0].fixes.front().patch;
  auto after = apply_patches(model, std::span(&patch, 1));
  INFO((after ? "" : after.error().message));
  REQUIRE(after);
  return std::move(*after);
}

}  // namespace detector_check
