#include <fmt/format.h>

#include <algorithm>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

ValueId max_pool(AtenBuilder& b, ValueId x, std::int64_t height, std::int64_t width) {
  Attributes attrs;
  attrs.set("kernel_size", std::vector<std::int64_t>{height, width});
  attrs.set("stride", std::vector<std::int64_t>{height, width});
  Shape shape = b.shape(x);
  shape[2] /= height, shape[3] /= width;
  return b.make("aten.max_pool2d.default", {{"self", x}}, std::move(attrs), b.dtype(x), std::move(shape));
}

/// The axis' maximum by max.dim: values and indices; the indices are not read.
ValueId max_of_axis(AtenBuilder& b, ValueId x, int dim) {
  Shape shape = b.shape(x);
  shape[static_cast<std::size_t>(dim)] = 1;
  const ValueId values = b.add_value("md_max", b.dtype(x), shape),
                indices = b.add_value("md_max_indices", DType::i64, shape);
  Node node;
  node.op = "aten.max.dim", node.inputs = {x}, node.input_names = {"self"}, node.outputs = {values, indices};
  node.attrs.set("dim", std::int64_t{dim}), node.attrs.set("keepdim", true);
  b.add_node(std::move(node));
  return values;
}

ValueId maximum(AtenBuilder& b, ValueId x, const std::vector<int>& dims) {
  const Shape s = b.shape(x);
  if (s.size() == 4 && dims == std::vector<int>{1} && element_count(s))
    return max_pool(b, b.reshape(x, {s[0], 1, s[1], s[2] * s[3]}), s[1], 1);
  if (s.size() == 4 && dims == std::vector<int>{2, 3} && element_count(s)) return max_pool(b, x, s[2], s[3]);
  for (const int dim : dims) x = max_of_axis(b, x, dim);
  return x;
}

}  // namespace

std::vector<DetectResult> LTC001(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "aten.amax.default" || node.outputs.size() != 1 || node.inputs.empty() ||
        node.inputs[0] < 0)
      continue;
    const Value& x = graph.value(node.inputs[0]);
    const Value& out = graph.value(node.outputs[0]);
    DetectResult result;
    result.nodes = {id};
    result.message = "amax in a region that is moved to channels-last, which has no form of it";
    const auto dims = aten_dims(node, "dim", x.rank());
    if (!dims || x.rank() == 0 || !element_count(out.shape)) {
      result.state = DetectResult::State::declined;
      result.reason = "its sizes are not known before export";
    } else {
      AtenBuilder b(graph, context.graph_index, "max_pool2d or max.dim instead of amax");
      b.remove(id);
      const ValueId most = maximum(b, node.inputs[0], *dims);
      b.result_into(node.outputs[0]);
      b.reshape(most, out.shape);
      result.fixes.emplace_back(b.take());
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
