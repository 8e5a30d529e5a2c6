// Graph outputs that the LiteRT GPU accelerator returns wrong because it fuses their only reader into their
// producer: the fused kernel no longer writes the value, and the caller reads an operand or memory that
// nobody wrote. Measured for every pair of 22 producers and 27 readers on 2.1.3, 2.1.5, 2.2.0 and 2.3.0 (fp32
// and fp16); padding for every pair of three and 15 on 2.3.0.
#pragma once
#include <optional>

#include "lib/graph/graph.h"

namespace md {

struct OutputHazard {
  enum class Kind {
    merged_scale,    ///< a constant MUL/ADD merged into a convolution's or matrix product's weights: every
                     ///< version
    reduced_sum,     ///< an ADD of two runtime values read by a reduction: every version
    merged_padding,  ///< PAD or PADV2 merged into the operator that alone reads it: every version
    linked           ///< an elementwise reader linked to its producer: up to 2.1.5
  } kind = Kind::linked;
  NodeId producer = none_id;
  NodeId reader = none_id;
};

/// The hazard of one graph output; nullopt when the accelerator returns it right.
std::optional<OutputHazard> output_hazard(const Graph& graph, ValueId output);

/// Makes the output from a same-shape RESHAPE of a new value that its producer writes and its readers read.
/// The signature does not change: the output keeps its tensor.
struct Patch output_copy_patch(const Graph& graph, int graph_index, ValueId output, const char* title);

}  // namespace md
