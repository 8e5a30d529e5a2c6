#include <algorithm>

#include "rules/aten/complex_results.h"

namespace md {
namespace {

bool is_branch(const Model& model, int graph) {
  for (const Graph& g : model.graphs)
    for (const NodeId id : g.order)
      if (g.node(id).op == "higher_order.cond" &&
          std::find(g.node(id).subgraphs.begin(), g.node(id).subgraphs.end(), graph) !=
              g.node(id).subgraphs.end())
        return true;
  return false;
}

}  // namespace

std::vector<DetectResult> TRT004(const DetectContext& context) {
  if (!is_branch(context.model, context.graph_index)) return {};
  return complex_results(
      context, [](const ComplexRegion& region) { return region.first != none_id || region.has_fourier; },
      "complex values inside a branch of torch.cond");
}

}  // namespace md
