// STRIDED_SLICE with masks or negative strides, written with operators that the accelerator takes.
#pragma once
#include <optional>
#include <string>

#include "lib/edit/patch.h"
#include "lib/graph/graph.h"
#include "lib/rule/page/detector.h"

namespace md {

/// A STRIDED_SLICE resolved against its input: for each axis of the input the first index, the step
/// (negative: backwards) and how many. Axes that the result drops or adds are a matter of its shape.
struct ResolvedSlice {
  std::vector<std::int64_t> begin, step, count;
  bool backwards() const;
};

/// nullopt: parameters or shapes that are not known before run time, or `offset` (lengths instead of ends).
std::optional<ResolvedSlice> resolve_slice(const Graph& graph, const Node& node);

/// REVERSE_V2 where a step is negative, SLICE or STRIDED_SLICE without masks, RESHAPE to the result's shape;
/// each only where it does something.
Patch plain_slice_patch(const Graph& graph, int graph_index, NodeId node, const ResolvedSlice& slice,
                        std::string title);

/// The finding of a slice that the accelerator does not take, with that patch; declined where the slice
/// cannot be resolved. The caller adds the message.
DetectResult plain_slice_finding(const DetectContext& context, NodeId node, std::string title);

}  // namespace md
