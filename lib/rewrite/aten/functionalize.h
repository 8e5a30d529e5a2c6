// In-place writes as values: x.add_(y) becomes a new value that later readers of x, and of what x is a view
// of, read.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/rule/page/detector.h"

namespace md {

struct Functionalized {
  std::vector<NodeId> writes;  ///< the in-place nodes that are rewritten
  ValueId base = none_id;      ///< the first tensor that is written
  std::string reason;          ///< why it cannot be done; empty: `patch` does it
  Patch patch;
};

/// Rewrites the in-place nodes whose written tensor (after following views to their base) is `chosen`.
/// Buffers that are written get a buffer_mutation node.
Functionalized functionalize(const DetectContext& context, const std::function<bool(ValueId base)>& chosen);

}  // namespace md
