#include "lib/edit/aten_builder.h"
#include "lib/graph/aten_view.h"
#include "lib/rule/detector.h"

namespace md {
namespace {

bool from_constant(const Graph& graph, ValueId id) { return id >= 0 && graph.value(id).is_constant(); }

/// The product by mm or bmm, or an empty reason's opposite: why it is kept.
std::string rewrite(AtenBuilder& b, NodeId id, ValueId x, ValueId y, ValueId out) {
  const Shape a = b.shape(x), c = b.shape(y), result = b.shape(out);
  b.remove(id);
  if (a.size() == 2 && c.size() == 2)
    return b.write("aten.mm.default", {{"self", x}, {"mat2", y}}, {}, out), "";
  if (!element_count(a) || !element_count(c)) return "its sizes are not known before run time";
  if (a.size() == 3 && c.size() == 3 && a[0] == c[0])
    return b.write("aten.bmm.default", {{"self", x}, {"mat2", y}}, {}, out), "";
  const std::int64_t k = c.size() == 1 ? c[0] : c[c.size() - 2];
  if (c.size() <= 2 && !a.empty()) {  // many rows times one matrix (or vector)
    const std::int64_t rows = *element_count(a) / std::max<std::int64_t>(k, 1), n = c.size() == 1 ? 1 : c[1];
    const ValueId flat = b.reshape(x, {rows, k}), matrix = c.size() == 1 ? b.reshape(y, {k, 1}) : y;
    const ValueId product =
        b.make("aten.mm.default", {{"self", flat}, {"mat2", matrix}}, {}, b.dtype(out), {rows, n});
    b.result_into(out);
    b.reshape(product, result);
    return "";
  }
  if (a.size() == c.size() && a.size() > 3) {
    std::int64_t batch = 1;
    for (std::size_t d = 0; d + 2 < a.size(); ++d) {
      if (a[d] != c[d]) return "its batches are broadcast";
      batch *= a[d];
    }
    const ValueId p = b.reshape(x, {batch, a[a.size() - 2], a.back()}),
                  q = b.reshape(y, {batch, c[c.size() - 2], c.back()});
    const ValueId product = b.make("aten.bmm.default", {{"self", p}, {"mat2", q}}, {}, b.dtype(out),
                                   {batch, a[a.size() - 2], c.back()});
    b.result_into(out);
    b.reshape(product, result);
    return "";
  }
  return "its operands have different ranks";
}

}  // namespace

std::vector<DetectResult> ETX020(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (node.op != "aten.matmul.default" || node.outputs.size() != 1) continue;
    const ValueId x = aten_operand(node, "self"), y = aten_operand(node, "other");
    if (x < 0 || y < 0 || (!from_constant(graph, x) && !from_constant(graph, y))) continue;
    DetectResult result;
    result.nodes = {id};
    result.message = "matmul with a constant operand";
    AtenBuilder b(graph, context.graph_index, "mm or bmm instead of matmul");
    result.reason = rewrite(b, id, x, y, node.outputs[0]);
    if (result.reason.empty())
      result.fixes.push_back({b.take(), Exactness::rounding, false, ""});
    else
      result.state = DetectResult::State::declined;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
