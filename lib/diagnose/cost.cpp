#include "lib/diagnose/cost.h"

#include "lib/op/work.h"

namespace md {

ReportedCost cost_of_change(const Model& before, const Model& after) {
  ReportedCost cost;
  const auto add = [&cost](const Model& model, int sign) {
    for (const Graph& graph : model.graphs) {
      cost.ops += sign * static_cast<std::int64_t>(graph.order.size());
      for (std::size_t v = 0; v < graph.values.size(); ++v) {
        const Value& value = graph.values[v];
        const auto id = static_cast<ValueId>(v);
        if (value.is_constant() && (!graph.uses(id).empty() || graph.is_output(id)))
          cost.bytes += sign * static_cast<std::int64_t>(value.constant->bytes.size());
      }
    }
  };
  add(after, 1);
  add(before, -1);
  cost.macs = total_multiply_adds(after) - total_multiply_adds(before);
  return cost;
}

}  // namespace md
