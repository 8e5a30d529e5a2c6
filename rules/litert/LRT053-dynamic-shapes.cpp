// Shapes that are not known before run time: the accelerator compiles for fixed ones.
#include <fmt/format.h>

#include "lib/format/tflite/queries.h"
#include "lib/rule/page/detector.h"

namespace md {

std::vector<DetectResult> LRT053(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::string inputs;
  NodeId first = none_id;
  for (const ValueId v : graph.inputs)
    if (!is_static(graph.value(v)))
      inputs += fmt::format("{}\"{}\" [{}]", inputs.empty() ? "" : ", ", graph.value(v).name,
                            shape_text(graph.value(v).shape));
  for (const NodeId id : graph.order) {
    for (const ValueId v : graph.node(id).outputs)
      if (v >= 0 && !is_static(graph.value(v)) && first == none_id) first = id;
  }
  if (first == none_id && inputs.empty()) return {};
  DetectResult result;
  result.state = DetectResult::State::advice;
  if (first == none_id && !graph.order.empty()) first = graph.order.front();
  if (first != none_id) result.nodes = {first};
  result.message = inputs.empty()
                       ? std::string("values inside the model have shapes that depend on other values")
                       : fmt::format("inputs without a fixed shape: {}", inputs);
  std::string wish;  // what to type, with the sizes that are fixed filled in
  for (const ValueId v : graph.inputs) {
    const Value& value = graph.value(v);
    if (is_static(value)) continue;
    wish += fmt::format(" --shape {}=", value.name);
    for (std::size_t d = 0; d < value.shape.size(); ++d)
      wish += (d ? "," : "") + (value.shape[d] < 0 ? std::string("N") : fmt::format("{}", value.shape[d]));
  }
  result.reason = wish.empty()
                      ? std::string(
                            "no input decides them: the sizes depend on the data; export an operator "
                            "with a fixed result (a mask instead of the selected rows)")
                      : fmt::format("say which size is meant:{}; or export with fixed sizes", wish);
  return {std::move(result)};
}

}  // namespace md
