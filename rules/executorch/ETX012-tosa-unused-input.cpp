#include <algorithm>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

bool is_like(const std::string& base) {
  return base == "aten.zeros_like" || base == "aten.ones_like" || base == "aten.full_like" ||
         base == "aten.empty_like" || base == "aten.new_zeros" || base == "aten.new_ones" ||
         base == "aten.new_full" || base == "aten.new_empty";
}

/// The number that fills the tensor.
AttrValue fill_of(const Node& node, const std::string& base) {
  if (const AttrValue* value = node.attrs.find("fill_value")) return *value;
  return std::int64_t{base.find("ones") != std::string::npos ? 1 : 0};
}

/// A value that the graph asks only for its shape.
bool read_only_for_shape(const Graph& graph, ValueId id) {
  if (id < 0 || graph.is_output(id)) return false;
  const auto uses = graph.uses(id);
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    const Node& node = graph.node(use.node);
    return is_like(aten_base(node.op)) || aten_is_check(node.op);
  });
}

DetectResult full_instead(const DetectContext& context, NodeId id, const std::string& base) {
  const Graph& graph = context.graph;
  const Node& node = graph.node(id);
  const Value& out = graph.value(node.outputs[0]);
  DetectResult result;
  result.nodes = {id};
  result.message = node.op +
                   " asks only for the shape of a value that nothing else reads: the TOSA graph drops it, "
                   "the call still passes it";
  if (!element_count(out.shape)) {
    result.state = DetectResult::State::declined;
    result.reason = "its sizes are not known before run time";
    return result;
  }
  AtenBuilder b(graph, context.graph_index, "full with the sizes written out");
  b.remove(id);
  Attributes attrs;
  attrs.set("size", out.shape), attrs.set("fill_value", fill_of(node, base)),
      attrs.set("dtype", aten_scalar_type(out.dtype));
  attrs.set("device", std::string("cpu")), attrs.set("pin_memory", false);
  b.write("aten.full.default", {}, std::move(attrs), node.outputs[0]);
  result.fixes.emplace_back(b.take());
  return result;
}

/// copy_ into a tensor that was only just made: its source.
bool copies_into_empty(const Graph& graph, const Node& node) {
  if (aten_base(node.op) != "aten.copy") return false;
  const ValueId self = aten_operand(node, "self"), src = aten_operand(node, "src");
  if (self < 0 || src < 0 || graph.producer(self) == none_id || node.outputs.size() != 1) return false;
  const std::string made = aten_base(graph.node(graph.producer(self)).op);
  return (made == "aten.empty_like" || made == "aten.empty" || made == "aten.new_empty" ||
          made == "aten.zeros_like") &&
         graph.uses(self).size() == 1 && !graph.is_output(self);
}

DetectResult source_instead(const DetectContext& context, NodeId id) {
  const Graph& graph = context.graph;
  const Node& node = graph.node(id);
  const ValueId self = aten_operand(node, "self"), src = aten_operand(node, "src");
  const Value &to = graph.value(self), &from = graph.value(src);
  DetectResult result;
  result.nodes = {id, graph.producer(self)};
  result.message =
      "copy_ into an empty tensor is its source; the value that gave the shape stays without a reader";
  if (to.shape != from.shape || to.dtype != from.dtype) {
    result.state = DetectResult::State::declined;
    result.reason = "the copy changes type or shape";
    return result;
  }
  AtenBuilder b(graph, context.graph_index, "read the source of the copy");
  b.remove(graph.producer(self));
  b.bypass(id, node.outputs[0], src);
  result.fixes.emplace_back(b.take());
  return result;
}

}  // namespace

std::vector<DetectResult> ETX012(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (copies_into_empty(graph, node)) {
      const Node& made = graph.node(graph.producer(aten_operand(node, "self")));
      const bool shape_only = !made.inputs.empty() && read_only_for_shape(graph, made.inputs[0]);
      if (shape_only || made.inputs.empty()) results.push_back(source_instead(context, id));
      continue;
    }
    const std::string base = aten_base(node.op);
    if (!is_like(base) || node.inputs.empty() || node.outputs.size() != 1 ||
        !read_only_for_shape(graph, node.inputs[0]))
      continue;
    const auto uses = graph.uses(node.outputs[0]);
    if (base.find("empty") != std::string::npos && uses.size() == 1 &&
        copies_into_empty(graph, graph.node(uses[0].node)))
      continue;
    results.push_back(full_instead(context, id, base));
  }
  return results;
}

}  // namespace md
