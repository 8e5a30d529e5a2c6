#include <algorithm>
#include <numeric>
#include <optional>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

/// Strides of a value as torch would have them; a dynamic dimension counts as some size above 1.
using Strides = std::vector<std::int64_t>;
constexpr std::int64_t some_size = 7919;  ///< a prime, so that products of sizes do not coincide

std::int64_t size_of(std::int64_t dim) { return dim < 0 ? some_size : dim; }

Strides contiguous(const Shape& shape) {
  Strides out(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;)
    out[d - 1] = out[d] * std::max<std::int64_t>(size_of(shape[d]), 1);
  return out;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  std::int64_t expected = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    if (shape[d] == 0) return true;
    if (strides[d] != expected) return false;
    expected *= size_of(shape[d]);
  }
  return true;
}

/// Strides of one view of `strides`; nullopt: it is not a view, or a reshape that may copy.
std::optional<Strides> view_strides(const Graph& graph, const Node& node, const Shape& from,
                                    Strides strides) {
  const std::string base = aten_base(node.op);
  const int rank = static_cast<int>(from.size());
  if (base == "aten.slice" || base == "aten.narrow") {
    const auto dim = aten_dim(node, "dim", rank, 0);
    if (!dim) return std::nullopt;
    strides[static_cast<std::size_t>(*dim)] *= std::max<std::int64_t>(node.attrs.integer("step", 1), 1);
    return strides;
  }
  if (base == "aten.select") {
    const auto dim = aten_dim(node, "dim", rank, 0);
    if (!dim) return std::nullopt;
    strides.erase(strides.begin() + *dim);
    return strides;
  }
  if (base == "aten.transpose" || base == "aten.t") {
    if (rank < 2) return strides;
    const auto a = base == "aten.t" ? std::optional(0) : aten_dim(node, "dim0", rank, 0),
               b = base == "aten.t" ? std::optional(1) : aten_dim(node, "dim1", rank, 1);
    if (!a || !b) return std::nullopt;
    std::swap(strides[static_cast<std::size_t>(*a)], strides[static_cast<std::size_t>(*b)]);
    return strides;
  }
  if (base == "aten.permute") {
    const auto* dims = node.attrs.integers("dims");
    if (!dims || static_cast<int>(dims->size()) != rank) return std::nullopt;
    Strides out;
    for (std::int64_t d : *dims) {
      if (d < 0) d += rank;
      if (d < 0 || d >= rank) return std::nullopt;
      out.push_back(strides[static_cast<std::size_t>(d)]);
    }
    return out;
  }
  const Shape& to = graph.value(node.outputs[0]).shape;
  if (base == "aten.unsqueeze") {
    const auto dim = aten_dim(node, "dim", rank + 1, 0);
    if (!dim) return std::nullopt;
    strides.insert(strides.begin() + *dim, 1);
    return strides;
  }
  if (base == "aten.expand" && to.size() >= from.size()) {
    Strides out(to.size() - from.size(), 0);
    for (std::size_t d = 0; d < from.size(); ++d)
      out.push_back(from[d] == 1 && to[to.size() - from.size() + d] != 1 ? 0 : strides[d]);
    return out;
  }
  if (base == "aten.squeeze") {
    Strides out;
    std::size_t next = 0;
    for (std::size_t d = 0; d < from.size(); ++d)
      if (next < to.size() && from[d] == to[next] && (from[d] != 1 || from.size() - d == to.size() - next))
        out.push_back(strides[d]), ++next;
    if (out.size() == to.size()) return out;
    return std::nullopt;
  }
  if (base == "aten.alias" || base == "aten.detach") return strides;
  return std::nullopt;
}

Strides strides_of_value(const Graph& graph, ValueId id, int depth = 0) {
  constexpr int deepest = 64;  ///< longer chains of views are taken as contiguous
  const Value& value = graph.value(id);
  const NodeId maker = graph.producer(id);
  if (maker == none_id || depth > deepest) return contiguous(value.shape);
  const Node& node = graph.node(maker);
  if (node.outputs.size() != 1 || node.inputs.empty() || node.inputs[0] < 0 || !aten_view(node.op))
    return contiguous(value.shape);
  const auto strides = view_strides(graph, node, graph.value(node.inputs[0]).shape,
                                    strides_of_value(graph, node.inputs[0], depth + 1));
  return strides && strides->size() == value.shape.size() ? *strides : contiguous(value.shape);
}

}  // namespace

std::vector<DetectResult> ETX005(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  if (context.graph_index != 0) return results;
  std::vector<ValueId> outputs = graph.outputs;
  std::sort(outputs.begin(), outputs.end());
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  for (const ValueId out : outputs) {
    const NodeId maker = graph.producer(out);
    if (maker == none_id || bit_width(graph.value(out).dtype) == 0 ||
        is_contiguous(graph.value(out).shape, strides_of_value(graph, out)))
      continue;
    const Node& node = graph.node(maker);
    const Value& value = graph.value(out);
    AtenBuilder b(graph, context.graph_index, "a contiguous copy in front of the output");
    const ValueId view = b.add_value(value.name + "_view", value.dtype, value.shape);
    b.patch().new_values.back().dim_names = value.dim_names;
    NodeChange change;
    change.node = maker;
    change.outputs.emplace_back(
        static_cast<int>(std::find(node.outputs.begin(), node.outputs.end(), out) - node.outputs.begin()),
        view);
    b.change(std::move(change));
    Attributes attrs;
    attrs.set("memory_format", EnumValue{1, "contiguous_format"});
    b.write("aten.clone.default", {{"self", view}}, std::move(attrs), out);
    DetectResult result;
    result.nodes = {maker};
    result.value = out;
    result.message = "an output is a view with gaps or in another order (" + node.op + ")";
    result.fixes.emplace_back(b.take());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
