// A graph output that disappears in a fusion on every measured version: a constant factor merged into
// weights, or a sum read by a reduction.
#include <fmt/format.h>

#include <set>

#include "lib/rewrite/output_hazard.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT021(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  std::set<ValueId> seen;
  for (const ValueId output : graph.outputs) {
    if (!seen.insert(output).second) continue;
    const auto hazard = output_hazard(graph, output);
    if (!hazard || hazard->kind == OutputHazard::Kind::linked) continue;
    DetectResult result;
    result.nodes = {hazard->producer, hazard->reader};
    result.value = output;
    const bool merged = hazard->kind == OutputHazard::Kind::merged_scale;
    result.message = fmt::format(
        "output \"{}\" of {} is also read by {}: {}", graph.value(output).name,
        graph.node(hazard->producer).op, graph.node(hazard->reader).op,
        merged ? "the accelerator merges the two and returns memory that nobody wrote (1e13, 1e37, or old "
                 "values)"
               : "the accelerator adds inside the reduction and returns an operand in place of the sum");
    result.fixes.emplace_back(
        output_copy_patch(graph, context.graph_index, output, "return a RESHAPE copy of the value"));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
