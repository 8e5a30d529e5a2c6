#include <algorithm>

#include "lib/rewrite/onnx/expand.h"
#include "lib/rewrite/onnx/join.h"
#include "lib/rewrite/onnx/structure.h"

namespace md {

std::vector<DetectResult> NCN101(const DetectContext& context) {
  std::vector<DetectResult> sizes = onnx::static_sizes(context);
  for (DetectResult& result : sizes)
    for (ProposedFix& fix : result.fixes) fix.exactness = Exactness::exact;
  std::vector<NodeId> named = onnx::blamed(context, {"not exists or registered", "not supported yet"});
  // what computes sizes goes with them
  if (!sizes.empty())
    std::erase_if(named, [&](NodeId id) { return !onnx::formula_of(context.graph.node(id).op); });
  return onnx::joined(std::move(sizes), onnx::expansions(context, named, "ncnn has no layer for it"));
}

}  // namespace md
