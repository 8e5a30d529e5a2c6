#include <fmt/format.h>

#include <algorithm>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/op/dialect.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

constexpr int most_dimensions = 4;

/// Leading dimensions merged until four are left.
Shape merged(const Shape& shape) {
  const std::size_t extra = shape.size() - most_dimensions;
  Shape out{1};
  for (std::size_t d = 0; d <= extra; ++d) out[0] *= shape[d];
  out.insert(out.end(), shape.begin() + static_cast<std::ptrdiff_t>(extra) + 1, shape.end());
  return out;
}

/// The partitioner leaves convolutions of volumes, and what they read, to the portable kernels.
bool stays_off_vulkan(const Graph& graph, ValueId constant) {
  const auto uses = graph.uses(constant);
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    const std::string base = aten_base(graph.node(use.node).op);
    return base == "aten.conv3d" || base == "aten.conv_transpose3d" || base == "aten.convolution";
  });
}

std::vector<DetectResult> in_lowered(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const NodeId id : context.graph.order) {
    const Node& node = context.graph.node(id);
    const std::int64_t rank = node.attrs.integer("largest_constant_rank");
    if (node.op != "delegate" || node.custom != "VulkanBackend" || rank <= most_dimensions) continue;
    DetectResult result;
    result.state = DetectResult::State::advice;
    result.nodes = {id};
    result.message = fmt::format("the Vulkan partition holds a constant of rank {}", rank);
    result.reason =
        "fix the .pt2 that it was lowered from (modeldoctor fix model.pt2 --target executorch-vulkan), and "
        "lower again";
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

std::vector<DetectResult> ETX011(const DetectContext& context) {
  if (context.model.dialect->lowered) return in_lowered(context);
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    const Value& value = graph.values[v];
    if (!value.is_constant() || value.rank() <= most_dimensions || graph.uses(id).empty() ||
        value.is_variable || stays_off_vulkan(graph, id))
      continue;
    AtenBuilder b(graph, context.graph_index, "store with four dimensions, and view");
    ValueChange stored;
    stored.value = id;
    stored.shape = merged(value.shape);
    b.change(stored);
    Attributes attrs;
    attrs.set("size", value.shape);
    const ValueId view = b.make("aten.view.default", {{"self", id}}, std::move(attrs), value.dtype,
                                value.shape, value.name + "_view");
    b.replace_uses(id, view);
    if (graph.is_output(id)) continue;
    DetectResult result;
    for (const Use& use : graph.uses(id)) result.nodes.push_back(use.node);
    result.value = id;
    result.message = fmt::format("the constant {} has {} dimensions; the Vulkan runtime holds four",
                                 value.name, value.rank());
    result.fixes.emplace_back(b.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
