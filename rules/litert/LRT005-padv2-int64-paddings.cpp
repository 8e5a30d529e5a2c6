// A small integer parameter (paddings, permutation, axes, begin, size) stored as int64 where the accelerator
// reads int32.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/edit/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {
std::vector<DetectResult> LRT005(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    PatchBuilder patch(graph, context.graph_index, "int32 parameters");
    DetectResult result;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const ValueId parameter = node.inputs[i];
      if (parameter < 0 || graph.value(parameter).dtype != DType::i64 ||
          !graph.value(parameter).is_constant())
        continue;
      const auto numbers = integer_values(graph, parameter);
      const auto fits = [](std::int64_t n) {
        return n >= std::numeric_limits<std::int32_t>::min() && n <= std::numeric_limits<std::int32_t>::max();
      };
      if (result.value == none_id) result.value = parameter;
      if (!numbers || !std::all_of(numbers->begin(), numbers->end(), fits)) {
        result.state = DetectResult::State::declined;
        result.reason = "a parameter does not fit into 32 bits";
        continue;
      }
      const std::vector<double> values(numbers->begin(), numbers->end());
      patch.rewire(
          id, static_cast<int>(i),
          patch.add_constant(graph.value(parameter).name, DType::i32, graph.value(parameter).shape, values));
    }
    if (result.value == none_id) continue;
    result.nodes = {id};
    result.message = fmt::format("{} with an int64 parameter \"{}\": the accelerator reads int32 ones only",
                                 node.op, graph.value(result.value).name);
    if (result.state == DetectResult::State::matched) result.fixes.emplace_back(patch.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
