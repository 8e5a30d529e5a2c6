// What the LiteRT GPU accelerator merges into a SPLIT, SPLIT_V or UNPACK and then computes wrongly, or cannot
// build. Found by running every pair of outputs, reader and order on 2.3.0; the neighbours that are right
// decide each condition (test/rule_silent_test.cpp holds them).
#pragma once
#include <optional>

#include "lib/graph/graph.h"

namespace md {

struct SplitMerge {
  enum class Kind {
    linked,  ///< elementwise operators are carried out where the first output is written; one of them reads
             ///< another output, which nobody has written yet
    joined,  ///< an ADD or a CONCATENATION of nothing but these outputs: it reads them from the wrong places
    refused  ///< a CONCATENATION along the axis that was split, or along the batch: the kernel is not built
  } kind = Kind::linked;
  NodeId split = none_id;
  NodeId reader = none_id;  ///< the operator whose result is wrong
  ValueId read = none_id;   ///< the output that it reads too early
};

/// True for SPLIT, SPLIT_V and UNPACK.
bool is_split(const Node& node);
/// What is split; none_id where the node has no such operand, or is no split.
ValueId split_data(const Node& node);
/// The axis that is split, from the front; nullopt when it is not a constant or there is no such axis.
std::optional<std::int64_t> split_axis(const Graph& graph, const Node& node);
/// What goes wrong behind this node; nullopt: nothing does, or it is no split.
std::optional<SplitMerge> split_merge(const Graph& graph, NodeId split);

}  // namespace md
