#include "lib/eval/index_limit.h"

#include <algorithm>
#include <set>

#include "lib/eval/kernel.h"
#include "lib/format/torch/view.h"

namespace md {

std::int64_t index_limit(const Graph& graph, const std::vector<NodeId>& nodes, ValueId input) {
  std::int64_t limit = 0;
  if (static_cast<std::size_t>(input) >= graph.values.size() || !is_integer(graph.value(input).dtype))
    return 0;
  const auto lower = [&](std::int64_t dim) {
    if (dim > 0) limit = limit ? std::min(limit, dim) : dim;
  };
  std::set<ValueId> reached = {input};
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    const auto reads = [&](std::size_t i) {
      return i < node.inputs.size() && node.inputs[i] != none_id && reached.count(node.inputs[i]) != 0;
    };
    const auto shape = [&](std::size_t i) -> const Shape& { return graph.value(node.inputs[i]).shape; };
    if (node.op == "GATHER" && reads(1)) {
      if (const auto axis = normal_axis(node.attrs.integer("axis"), shape(0).size())) lower(shape(0)[*axis]);
    } else if (node.op == "GATHER_ND" && reads(1)) {
      const Shape& indices = shape(1);
      const std::int64_t k = indices.empty() ? 1 : std::max<std::int64_t>(1, indices.back());
      for (std::size_t d = 0; d < shape(0).size() && static_cast<std::int64_t>(d) < k; ++d)
        lower(shape(0)[d]);
    } else if (const std::string base = aten_base(node.op);
               base == "aten.scatter_add" || base == "aten.scatter_reduce" || base == "aten.index_select") {
      const int at = aten_operand_position(node, "index");
      if (at < 0 || !reads(static_cast<std::size_t>(at)) || node.inputs[0] < 0) continue;
      if (const auto axis = normal_axis(node.attrs.integer("dim"), shape(0).size())) lower(shape(0)[*axis]);
    } else if (base == "aten.embedding") {
      const int at = aten_operand_position(node, "indices");
      const ValueId table = aten_operand(node, "weight");
      if (at >= 0 && table >= 0 && reads(static_cast<std::size_t>(at)) && !graph.value(table).shape.empty())
        lower(graph.value(table).shape[0]);
    } else if (base == "aten.index" || base == "aten.index_put") {
      const auto indices = aten_operands(node, "indices");
      for (std::size_t d = 0; d < indices.size() && node.inputs[0] >= 0 && d < shape(0).size(); ++d)
        if (indices[d] >= 0 && reached.count(indices[d]) && graph.value(indices[d]).dtype != DType::boolean)
          lower(shape(0)[d]);
    } else if ((node.op == "STABLEHLO_SCATTER" || node.op == "STABLEHLO_GATHER") && reads(1)) {
      const auto* axes = node.attrs.integers(node.op == "STABLEHLO_GATHER" ? "start_index_map"
                                                                           : "scatter_dims_to_operand_dims");
      for (const std::int64_t axis : axes ? *axes : std::vector<std::int64_t>())
        if (const auto d = normal_axis(axis, shape(0).size())) lower(shape(0)[*d]);
    } else if (node.op == "EMBEDDING_LOOKUP" && reads(0) && node.inputs.size() > 1 && !shape(1).empty()) {
      lower(shape(1)[0]);
    } else if (node.op == "SCATTER_ND" && reads(0) && !node.outputs.empty()) {
      for (const std::int64_t d : graph.value(node.outputs[0]).shape) lower(d);
    } else {
      bool any = false;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) any = any || reads(i);
      for (const ValueId v : node.outputs)
        if (any && v != none_id && is_integer(graph.value(v).dtype)) reached.insert(v);
    }
  }
  return limit;
}

}  // namespace md
