#include "lib/rewrite/trace_view.h"

#include "lib/graph/encode.h"

namespace md {

namespace {

std::optional<StridedView> after(const Graph& graph, const Node& node, const StridedView& view) {
  const Shape& shape = graph.value(node.outputs.front()).shape;
  if (node.op == "RESHAPE" || node.op == "EXPAND_DIMS" || node.op == "SQUEEZE") return view.reshape(shape);
  if (node.op == "BROADCAST_TO") return view.broadcast(shape);
  const auto list = node.inputs.size() > 1 ? decode_integers(graph.value(node.inputs[1])) : std::nullopt;
  if (!list) return std::nullopt;
  if (node.op == "TRANSPOSE") return view.transpose(*list);
  if (node.op == "TILE") return view.tile(*list);
  if (node.op != "SLICE" || list->size() != shape.size() || view.axes.size() != shape.size())
    return std::nullopt;
  StridedView cut = view;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto next = cut.slice(d, (*list)[d], shape[d]);
    if (!next) return std::nullopt;
    cut = *next;
  }
  return cut;
}

}  // namespace

TracedView trace_view(const Graph& graph, ValueId value) {
  std::vector<NodeId> moves;
  ValueId source = value;
  for (NodeId maker = graph.producer(source); maker != none_id; maker = graph.producer(source)) {
    const Node& node = graph.node(maker);
    if (node.outputs.size() != 1 || node.inputs.empty() || !element_count(graph.value(node.inputs[0]).shape))
      break;
    if (!after(graph, node, StridedView::whole(graph.value(node.inputs[0]).shape))) break;
    moves.push_back(maker);
    source = node.inputs[0];
  }
  // From the top down; where a view of a view is none, begin again below it.
  TracedView traced{source, StridedView::whole(graph.value(source).shape)};
  while (!moves.empty()) {
    const Node& node = graph.node(moves.back());
    moves.pop_back();
    if (const auto next = after(graph, node, traced.view))
      traced.view = *next;
    else
      traced = {node.outputs.front(), StridedView::whole(graph.value(node.outputs.front()).shape)};
  }
  return traced;
}

}  // namespace md
