// Finite constants past 65504 (masks of -1e9, padding of 1e10): infinity in fp16.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

constexpr double largest_half = 65504;

/// Operators through which such a constant becomes a value of the graph.
bool carries(const Node& node) {
  static constexpr std::array<std::string_view, 7> ops = {"ADD",       "SUB",   "MUL",          "SELECT",
                                                          "SELECT_V2", "PADV2", "CONCATENATION"};
  return std::find(ops.begin(), ops.end(), node.op) != ops.end();
}

/// A softmax behind it turns minus infinity into 0, as it does with -1e9.
bool ends_in_softmax(const Graph& graph, ValueId value, int depth = 6) {
  if (depth == 0 || graph.is_output(value) || graph.uses(value).empty()) return false;
  const auto uses = graph.uses(value);
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    const Node& node = graph.node(use.node);
    if (node.op == "SOFTMAX") return true;
    const bool passes = node.op == "RESHAPE" || node.op == "TRANSPOSE" || node.op == "ADD" ||
                        node.op == "SLICE" || node.op == "REDUCE_MAX" || node.op == "SUB";
    return passes && ends_in_softmax(graph, node.outputs[0], depth - 1);
  });
}

}  // namespace

std::vector<DetectResult> LRT028(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (!carries(node) || node.outputs.empty() || !is_float_value(graph, node.outputs[0])) continue;
    // A softmax takes minus infinity; the zeros of a mask that is multiplied with it give NaN before that.
    const bool product = node.op == "MUL";
    if (!product && ends_in_softmax(graph, node.outputs[0])) continue;
    for (const ValueId operand : node.inputs) {
      if (operand < 0 || !is_constant_operand(graph, operand) || !is_float_value(graph, operand)) continue;
      const auto numbers = real_values(graph, operand);
      if (!numbers) continue;
      const auto worst = std::max_element(numbers->begin(), numbers->end(), [](double a, double b) {
        return (std::isfinite(a) ? std::abs(a) : 0) < (std::isfinite(b) ? std::abs(b) : 0);
      });
      if (worst == numbers->end() || !std::isfinite(*worst) || std::abs(*worst) <= largest_half) continue;
      DetectResult result;
      result.state = DetectResult::State::advice;
      result.likelihood = Likelihood::unlikely;
      result.nodes = {id};
      result.value = operand;
      result.message = fmt::format(
          "the constant \"{}\" holds {:g}, which is infinity in fp16: {}", graph.value(operand).name, *worst,
          product ? "times 0 it is NaN" : fmt::format("what {} makes of it is not finite there", node.op));
      result.reason =
          "use a value that fp16 holds (-1e4 masks as well as -1e9 in front of a softmax), or keep this part "
          "in fp32";
      results.push_back(std::move(result));
      break;
    }
  }
  return results;
}

}  // namespace md
