#include "lib/rewrite/norm_findings.h"

#include <fmt/format.h>

#include <cmath>

#include "lib/format/tflite/queries.h"

namespace md {
namespace {

constexpr double largest_half = 65504;

/// The magnitude of x from which squares (kept one by one in fp16) or their sum pass the largest fp16 number.
double limit_of(const Graph& graph, const NormSite& site) {
  double terms = 1;
  if (!site.averages)
    for (const std::int64_t axis : site.axes)
      terms *= static_cast<double>(
          graph.value(graph.node(site.square).outputs[0]).shape[static_cast<std::size_t>(axis)]);
  return std::sqrt(largest_half / terms);
}

}  // namespace

std::vector<DetectResult> norm_findings(const DetectContext& context,
                                        const std::function<bool(const NormSite&)>& concerns) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NormSite& site : find_norms(graph)) {
    if (!concerns(site)) continue;
    DetectResult result;
    const ValueId x = site.kind == NormSite::Kind::centred ? site.x : site.source;
    if (is_constant_operand(graph, x)) continue;  // folds away
    const bool unbounded = grows_with_inputs(graph, x);
    result.likelihood = unbounded ? Likelihood::possible : Likelihood::unlikely;
    result.nodes = {site.square, site.root};
    result.value = x;
    result.message = fmt::format(
        "{} of \"{}\": in fp16 its squares pass 65504 when |{}| reaches {:.0f}; the output is then all zero, "
        "NaN or infinite{}",
        site.name(), graph.value(x).name, site.kind == NormSite::Kind::centred ? "x - mean" : "x",
        limit_of(graph, site), unbounded ? "; nothing in the model bounds it, it grows with the input" : "");
    result.fixes.emplace_back(rescaled_norm_patch(graph, context.graph_index, site));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
