#include "lib/rewrite/aten/shared_constants.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"

namespace md {

bool log_says(const DetectContext& context, std::string_view text) {
  return context.log_messages &&
         std::any_of(context.log_messages->begin(), context.log_messages->end(),
                     [&](const std::string& message) { return message.find(text) != std::string::npos; });
}

std::vector<DetectResult> split_shared_constants(const DetectContext& context,
                                                 const std::function<bool(ValueId)>& chosen) {
  const Graph& graph = context.graph;
  AtenBuilder builder(graph, context.graph_index, "one placeholder for each use of a shared constant");
  DetectResult result;
  std::size_t count = 0;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    const Value& value = graph.values[v];
    const auto uses = graph.uses(id);
    if (!value.is_constant() || value.is_variable || uses.size() < 2 || !chosen(id)) continue;
    // A tensor that is written in place must stay one tensor.
    if (std::any_of(uses.begin(), uses.end(), [&](const Use& u) {
          return aten_in_place(graph.node(u.node).op) || graph.node(u.node).op == "buffer_mutation";
        }))
      continue;
    if (result.value == none_id) result.value = id;
    ++count;
    result.nodes.push_back(uses.front().node);
    for (std::size_t u = 1; u < uses.size(); ++u) {
      const ValueId copy =
          builder.add_value(fmt::format("{}_use{}", value.name, u), value.dtype, value.shape);
      builder.patch().new_values.back().constant =
          value.constant;  // the same bytes: the writer stores them once
      builder.rewire(uses[u].node, uses[u].operand, copy);
      result.nodes.push_back(uses[u].node);
    }
  }
  if (count == 0) return {};
  std::sort(result.nodes.begin(), result.nodes.end());
  result.nodes.erase(std::unique(result.nodes.begin(), result.nodes.end()), result.nodes.end());
  result.words = {{"count", std::to_string(count)}, {"first", graph.value(result.value).name}};
  result.fixes.emplace_back(builder.take());
  return {std::move(result)};
}

}  // namespace md
