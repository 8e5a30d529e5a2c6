// Zero padding in front of a max pool: the accelerator pads with minus infinity instead, so a window of
// negative values at the border gives its own maximum where the model says 0.
#include <fmt/format.h>

#include "lib/format/tflite/queries.h"
#include "lib/rewrite/padded_pool.h"

namespace md {

std::vector<DetectResult> LRT020(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const PaddedPool& site : padded_pools(graph, "MAX_POOL_2D")) {
    const Node& pad = graph.node(site.pad);
    double value = 0;
    if (pad.op == "PADV2") {
      const auto fill = pad.inputs.size() > 2 ? scalar_value(graph, pad.inputs[2]) : std::nullopt;
      if (!fill) continue;
      value = *fill;
    }
    // Padding below everything that can be pooled is what the accelerator does anyway.
    if (value <= -1e4 || (value <= 0 && is_non_negative(graph, pad.inputs[0]))) continue;
    DetectResult result;
    result.nodes = {site.pool, site.pad};
    result.value = graph.node(site.pool).outputs[0];
    result.message = fmt::format(
        "the {} in front of this max pool is ignored: at the border, windows whose values are all below {} "
        "come out wrong",
        value, value);
    result.fixes.emplace_back(keep_padding_patch(graph, context.graph_index, site));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
