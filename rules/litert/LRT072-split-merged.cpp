// Readers of the outputs of a SPLIT that the accelerator merges into it: the outputs become slices instead.
#include <fmt/format.h>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"
#include "lib/runtime/litert/split_merge.h"

namespace md {
namespace {

/// Every output that is needed as a SLICE of its own; empty where a shape is not known.
Patch slices(const DetectContext& context, NodeId id, std::int64_t axis) {
  const Graph& graph = context.graph;
  const Node& node = graph.node(id);
  PatchBuilder patch(graph, context.graph_index, fmt::format("a SLICE for each output of {}", node.op));
  TfliteBuilder ops(patch);
  const ValueId data = split_data(node);
  const auto at = static_cast<std::size_t>(axis);
  const bool unpacks = node.op == "UNPACK";
  Shape begin(ops.shape(data).size(), 0);
  for (const ValueId out : node.outputs) {
    if (out < 0) return {};
    Shape size = ops.shape(data);
    size[at] = unpacks ? 1 : ops.shape(out).size() > at ? ops.shape(out)[at] : 0;
    if (element_count(size) != element_count(ops.shape(out))) return {};
    if (!graph.uses(out).empty() || graph.is_output(out)) {
      const ValueId part = ops.slice(data, begin, size, unpacks ? none_id : out);
      if (unpacks) ops.reshape(part, ops.shape(out), out);
    }
    begin[at] += size[at];
  }
  patch.remove(id);
  return patch.take();
}

std::string_view fault_word(SplitMerge::Kind kind) {
  switch (kind) {
    case SplitMerge::Kind::linked:
      return "linked";
    case SplitMerge::Kind::joined:
      return "joined";
    case SplitMerge::Kind::refused:
      break;
  }
  return "refused";
}

}  // namespace

std::vector<DetectResult> LRT072(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const auto found = split_merge(graph, id);
    const Node& node = graph.node(id);
    if (!found) continue;
    DetectResult result;
    result.nodes = {id, found->reader};
    result.value = found->read;
    result.words = {{"fault", std::string(fault_word(found->kind))},
                    {"split", node.op},
                    {"reader", graph.node(found->reader).op},
                    {"output", graph.value(found->read).name},
                    {"first", graph.value(node.outputs.front()).name}};
    Patch patch = slices(context, id, *split_axis(graph, node));
    if (patch.empty()) {
      result.state = DetectResult::State::declined;
      result.reason = "the sizes of the parts are not known before run time";
    } else {
      result.fixes.emplace_back(std::move(patch));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
