// PAD in front of a pooling operator: the LiteRT GPU accelerator fuses the two into a pool with its own
// padding, which does not count (AVERAGE_POOL_2D) or does not see (MAX_POOL_2D) the padded elements.
#pragma once
#include <vector>

#include "lib/rule/page/detector.h"

namespace md {

struct PaddedPool {
  NodeId pad = none_id, pool = none_id;
};

/// Every PAD or PADV2 that pads height or width alone and is read by one `pool_op` alone.
std::vector<PaddedPool> padded_pools(const Graph& graph, const char* pool_op);

/// MUL by 1.0 between the two: bit for bit the same, and nothing fuses across it.
Patch keep_padding_patch(const Graph& graph, int graph_index, const PaddedPool& site);

}  // namespace md
