#include "rules/aten/scatter_sum.h"

#include <fmt/format.h>

#include "lib/edit/aten_builder.h"
#include "lib/graph/aten_view.h"

namespace md {
namespace {

/// More compared elements than this cost more than the scatter (512 MB of int64).
constexpr std::int64_t most_compared = std::int64_t{1} << 26;
constexpr int largest_rank = 7;  ///< the comparison adds an axis, and eight are the most that backends take

bool is_integer_scatter(const Graph& graph, const Node& node) {
  const std::string base = aten_base(node.op);
  const bool adds =
      base == "aten.scatter_add" || (base == "aten.scatter_reduce" && node.attrs.text("reduce") == "sum" &&
                                     node.attrs.flag("include_self", true));
  const ValueId self = aten_operand(node, "self");
  return adds && self >= 0 && is_integer(graph.value(self).dtype);
}

/// Readers of a tensor that was written in place, behind the write, read the result.
void follow_write(AtenBuilder& b, const Graph& graph, NodeId id, ValueId written, ValueId result) {
  std::vector<int> place(graph.nodes.size(), -1);
  for (std::size_t i = 0; i < graph.order.size(); ++i)
    place[static_cast<std::size_t>(graph.order[i])] = static_cast<int>(i);
  for (const Use& use : graph.uses(written))
    if (place[static_cast<std::size_t>(use.node)] > place[static_cast<std::size_t>(id)])
      b.rewire(use.node, use.operand, result);
}

std::string reason_to_keep(const Graph& graph, const Node& node, ValueId self, ValueId index, ValueId src) {
  if (index < 0 || src < 0) return "the source is a number";
  const Value &s = graph.value(self), &i = graph.value(index), &v = graph.value(src);
  if (!element_count(s.shape) || !element_count(i.shape) || !element_count(v.shape))
    return "its sizes are not known before run time";
  if (s.rank() > largest_rank)
    return fmt::format("it has {} dimensions, and the comparison needs one more", s.rank());
  const auto dim = aten_dim(node, "dim", s.rank(), 0);
  if (!dim || s.rank() != i.rank() || s.rank() != v.rank() || s.rank() == 0)
    return "its operands do not fit each other";
  for (int d = 0; d < s.rank(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (d != *dim && i.shape[at] != s.shape[at]) return "the indices cover only a part of the other axes";
    if (i.shape[at] > v.shape[at]) return "its operands do not fit each other";
  }
  const std::int64_t size = s.shape[static_cast<std::size_t>(*dim)];
  if (size > 0 && *element_count(i.shape) > most_compared / size)
    return fmt::format("{} indices compared with {} positions are more than 2^26 elements",
                       *element_count(i.shape), size);
  if (aten_in_place(node.op)) {
    const NodeId maker = graph.producer(self);
    if (maker == none_id || aten_view(graph.node(maker).op))
      return "it writes into an input, a constant or a view in place";
  }
  return {};
}

Patch as_sum(const DetectContext& context, NodeId id, ValueId self, ValueId index, ValueId src) {
  const Graph& graph = context.graph;
  const Node& node = graph.node(id);
  const Value& s = graph.value(self);
  AtenBuilder b(graph, context.graph_index, "compare the indices and sum");
  b.remove(id);
  const int dim = *aten_dim(node, "dim", s.rank(), 0);
  const std::int64_t size = s.shape[static_cast<std::size_t>(dim)];
  for (int d = 0; d < s.rank(); ++d)
    if (const std::int64_t wanted = graph.value(index).shape[static_cast<std::size_t>(d)];
        b.shape(src)[static_cast<std::size_t>(d)] > wanted)
      src = b.slice(src, d, 0, wanted);
  Shape positions(static_cast<std::size_t>(s.rank()) + 1, 1);
  positions[static_cast<std::size_t>(dim)] = size;
  const ValueId range = b.reshape(b.arange(size, graph.value(index).dtype), positions);
  const ValueId hits = b.binary("aten.eq.Tensor", b.unsqueeze(index, dim), range);
  const ValueId picked = b.binary("aten.mul.Tensor", hits, b.unsqueeze(src, dim));
  const ValueId total = b.sum(picked, dim + 1, s.dtype);
  b.result_into(node.outputs[0]);
  b.binary("aten.add.Tensor", self, total);
  if (aten_in_place(node.op)) follow_write(b, graph, id, self, node.outputs[0]);
  return b.take();
}

}  // namespace

std::vector<DetectResult> integer_scatter(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (!is_integer_scatter(graph, node)) continue;
    const ValueId self = aten_operand(node, "self"), index = aten_operand(node, "index"),
                  src = aten_operand(node, "src");
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs.empty() ? none_id : node.outputs[0];
    result.reason = reason_to_keep(graph, node, self, index, src);
    if (!result.reason.empty())
      result.state = DetectResult::State::declined;
    else
      result.fixes.push_back({as_sum(context, id, self, index, src), Exactness::exact, false, ""});
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
