// Normalizations written out in elementary operators: RMSNorm, L2 normalization, LayerNorm, InstanceNorm,
// GroupNorm, as today's and older converters emit them. All square a value, reduce the squares, and divide by
// the root.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/edit/patch.h"
#include "lib/graph/graph.h"

namespace md {

struct NormSite {
  enum class Kind { rms, l2, centred } kind = Kind::rms;
  enum class Guard {
    none,    ///< 1 / sqrt(v)
    inside,  ///< 1 / sqrt(v + eps)
    added,   ///< 1 / (sqrt(v) + eps)
    floor    ///< 1 / max(sqrt(v), eps)
  } guard = Guard::inside;
  NodeId square = none_id;   ///< MUL(s, s), SQUARE, POW 2, SQUARED_DIFFERENCE: what overflows first
  NodeId root = none_id;     ///< RSQRT, or SQRT
  ValueId source = none_id;  ///< what is squared; none_id when SQUARED_DIFFERENCE subtracts on the way
  ValueId x = none_id, mean = none_id;  ///< the value before its mean was subtracted, and that mean (centred)
  bool mean_over_axes = false;  ///< the mean is that of x over `axes`, so that it can be computed anew
  ValueId scale = none_id;      ///< 1/root, or the root itself when `reciprocal` is false, behind its guard
  bool reciprocal = true;
  bool averages = true;  ///< mean of the squares, else their sum
  double factor = 1;     ///< of that mean: N/(N-1) for an unbiased variance
  double epsilon = 0;
  std::vector<std::int64_t> axes;
  const char* name() const;  ///< "LayerNorm", "RMSNorm", "L2 normalization"
};

/// The site whose root (RSQRT or SQRT) is this node, when its squares are taken of an unscaled value: one
/// that was divided by its largest magnitude before is mended already.
std::optional<NormSite> norm_at(const Graph& graph, NodeId root);

/// Nothing but moves, sums and products with constants lies between the graph's inputs and the value: it
/// grows with the inputs and nothing in the model bounds it.
bool grows_with_inputs(const Graph& graph, ValueId value);

/// The same normalization on y = d / m with m = max(amax|d|, f), d centred first: y / sqrt(mean(y^2) + eps /
/// m / m). The floor f is 1, or for a small eps so much smaller that eps / f / f is no subnormal fp16 number:
/// a zero row must not become 0 / 0.
Patch rescaled_norm_patch(const Graph& graph, int graph_index, const NormSite& site);

}  // namespace md
