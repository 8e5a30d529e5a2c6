// A value as a view of the tensor that it was moved from, through any number of moves.
#pragma once
#include "lib/graph/strided_view.h"

namespace md {

struct TracedView {
  ValueId source = none_id;
  StridedView view;  ///< of `source`, with the shape of the value
};

/// Follows RESHAPE, EXPAND_DIMS, SQUEEZE, TRANSPOSE, SLICE, BROADCAST_TO and TILE upwards; the value itself
/// where there are none.
TracedView trace_view(const Graph& graph, ValueId value);

}  // namespace md
