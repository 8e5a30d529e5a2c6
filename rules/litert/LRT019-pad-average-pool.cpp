// Zero padding counted by an average pool (count_include_pad): the accelerator divides by the number of real
// elements.
#include <fmt/format.h>

#include "lib/rewrite/padded_pool.h"

namespace md {

std::vector<DetectResult> LRT019(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const PaddedPool& site : padded_pools(context.graph, "AVERAGE_POOL_2D")) {
    const Node& pool = context.graph.node(site.pool);
    DetectResult result;
    result.nodes = {site.pool, site.pad};
    result.value = pool.outputs[0];
    result.message = fmt::format(
        "the padding in front of this {}x{} average pool is not counted: values at the border come out too "
        "large (a corner by up to {:.2g} times)",
        pool.attrs.integer("filter_height"), pool.attrs.integer("filter_width"),
        static_cast<double>(pool.attrs.integer("filter_height") * pool.attrs.integer("filter_width")));
    result.fixes.emplace_back(keep_padding_patch(context.graph, context.graph_index, site));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
