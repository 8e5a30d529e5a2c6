#include "lib/rewrite/padded_pool.h"

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"

namespace md {

std::vector<PaddedPool> padded_pools(const Graph& graph, const char* pool_op) {
  std::vector<PaddedPool> sites;
  for (const NodeId id : graph.order) {
    const Node& pool = graph.node(id);
    if (pool.op != pool_op || pool.inputs.empty() || !is_float_value(graph, pool.inputs[0])) continue;
    const NodeId pad_id = graph.producer(pool.inputs[0]);
    if (pad_id == none_id || !is_private(graph, pool.inputs[0])) continue;
    const Node& pad = graph.node(pad_id);
    if ((pad.op != "PAD" && pad.op != "PADV2") || pad.inputs.size() < 2) continue;
    const auto widths = integer_values(graph, pad.inputs[1]);
    if (!widths || widths->size() != 8) continue;
    const bool outer = (*widths)[0] || (*widths)[1] || (*widths)[6] || (*widths)[7];
    const bool inner = (*widths)[2] || (*widths)[3] || (*widths)[4] || (*widths)[5];
    if (inner && !outer) sites.push_back({pad_id, id});
  }
  return sites;
}

Patch keep_padding_patch(const Graph& graph, int graph_index, const PaddedPool& site) {
  PatchBuilder patch(graph, graph_index, "MUL by 1.0 between the padding and the pool");
  TfliteBuilder ops(patch);
  const ValueId padded = graph.node(site.pool).inputs[0];
  const double one = 1;
  const ValueId factor = ops.floats("one", {}, {&one, 1}, graph.value(padded).dtype);
  patch.rewire(site.pool, 0, ops.binary("MUL", padded, factor));
  return patch.take();
}

}  // namespace md
