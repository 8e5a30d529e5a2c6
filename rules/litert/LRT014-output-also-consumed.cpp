// A graph output whose only reader is an elementwise operator: up to 2.1.5 the accelerator links the two and
// returns an operand in place of the output.
#include <fmt/format.h>

#include <set>

#include "lib/rewrite/output_hazard.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT014(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  if (!context.fails()) return results;
  std::set<ValueId> seen;
  for (const ValueId output : graph.outputs) {
    if (!seen.insert(output).second) continue;
    const auto hazard = output_hazard(graph, output);
    if (!hazard || hazard->kind != OutputHazard::Kind::linked) continue;
    DetectResult result;
    result.nodes = {hazard->producer, hazard->reader};
    result.value = output;
    const std::string& name = graph.value(output).name;
    for (const ValueId other : graph.outputs)
      if (other != output && graph.value(other).name == name) {
        result.state = DetectResult::State::declined;
        result.likelihood = Likelihood::possible;
        result.reason = fmt::format(
            "two outputs are named \"{}\": the runtime finds outputs by name, so which of them a program "
            "gets is not defined; give them names of their own first",
            name);
      }
    const Node& producer = graph.node(hazard->producer);
    const Node& reader = graph.node(hazard->reader);
    result.message = fmt::format(
        "output \"{}\" is also read by {}: the accelerator returns an operand of {} in its place, what is "
        "computed from it is right",
        name, reader.op, producer.op);
    if (result.state == DetectResult::State::matched)
      result.fixes.emplace_back(
          output_copy_patch(graph, context.graph_index, output, "return a RESHAPE copy of the value"));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
