#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/edit/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

/// Python's rule: negative bounds count from the end, then both are clamped.
std::int64_t clamped(std::int64_t bound, std::int64_t size) {
  if (bound == to_the_end) return size;
  return std::clamp<std::int64_t>(bound < 0 ? bound + size : bound, 0, size);
}

}  // namespace

std::vector<DetectResult> TRT001(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    const std::string base = aten_base(node.op);
    if ((base != "aten.slice" && base != "aten.slice_scatter") || node.inputs.empty() || node.inputs[0] < 0)
      continue;
    const Value& x = graph.value(node.inputs[0]);
    const auto dim = aten_dim(node, "dim", x.rank(), 0);
    if (!dim || x.rank() == 0) continue;
    const std::int64_t size = x.shape[static_cast<std::size_t>(*dim)];
    const bool symbolic = aten_operand(node, "start") >= 0 || aten_operand(node, "end") >= 0;
    if (size < 0 || symbolic) continue;
    const std::int64_t start = node.attrs.integer("start", 0), end = node.attrs.integer("end", to_the_end);
    const auto outside = [&](std::int64_t bound) {
      return bound != to_the_end && (bound > size || bound < -size);
    };
    const std::int64_t from = clamped(start, size), to = std::max(from, clamped(end, size));
    if (!outside(start) && !outside(end) && clamped(end, size) >= from) continue;
    DetectResult result;
    result.nodes = {id};
    result.message = fmt::format("the slice {}:{} does not lie inside a dimension of {}", start,
                                 end == to_the_end ? std::string() : std::to_string(end), size);
    result.words = {{"from", std::to_string(from)}, {"to", std::to_string(to)}};
    PatchBuilder b(graph, context.graph_index, fmt::format("bounds {}:{}, as Python takes them", from, to));
    NodeChange change;
    change.node = id;
    change.set_attrs.set("start", from);
    change.set_attrs.set("end", to);
    b.change(std::move(change));
    result.fixes.emplace_back(b.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
