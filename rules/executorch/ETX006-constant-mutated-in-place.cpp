#include <fmt/format.h>

#include "lib/eval/fold.h"
#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rewrite/aten/functionalize.h"
#include "lib/rewrite/aten/shared_constants.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// Writes straight into a buffer are what torch.export itself functionalizes when it decomposes: they fail
/// only where the log says so. A constant that is no buffer (torch.export calls it c_...) cannot be written
/// at all. Writes through a view, or into a constant made in the graph, are what constant propagation
/// freezes.
bool is_frozen_when_written(const Graph& graph, ValueId base) {
  if (!graph.value(base).is_constant() || graph.value(base).name.starts_with("c_")) return true;
  const auto uses = graph.uses(base);
  for (const Use& use : uses)
    if (aten_view(graph.node(use.node).op)) return true;
  return false;
}

}  // namespace

std::vector<DetectResult> ETX006(const DetectContext& context) {
  const Graph& graph = context.graph;
  const bool logged = log_says(context, "is mutated in the forward method");
  Functionalized done = functionalize(context, [&](ValueId base) {
    return depends_on_constants_only(graph, base) && (logged || is_frozen_when_written(graph, base));
  });
  if (done.writes.empty()) return {};
  DetectResult result;
  result.nodes = done.writes;
  result.value = done.base;
  result.message = fmt::format("{} writes in place into {}", graph.node(done.writes.front()).op,
                               graph.value(done.base).name);
  result.reason = done.reason;
  if (!done.reason.empty())
    result.state = DetectResult::State::declined;
  else
    result.fixes.emplace_back(std::move(done.patch));
  return {std::move(result)};
}

}  // namespace md
