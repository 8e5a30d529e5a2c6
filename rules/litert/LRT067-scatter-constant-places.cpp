// STABLEHLO_SCATTER that overwrites at constant places: rows of the operand and of the updates, picked.
#include <fmt/format.h>

#include <array>

#include "lib/format/tflite/queries.h"
#include "lib/rewrite/constant_scatter.h"
#include "lib/rewrite/select_rows.h"
#include "lib/rule/page/detector.h"
#include "rules/litert/linear_fixes.h"

namespace md {
namespace {

std::optional<ProposedFix> picked(const DetectContext& context, NodeId id, const ConstantScatter& scatter,
                                  RowPicker picker) {
  const Node& node = context.graph.node(id);
  PatchBuilder patch(context.graph, context.graph_index, "pick rows of the old and the new values");
  TfliteBuilder ops(patch);
  const auto rows = [&](ValueId x, std::int64_t count) {
    const Shape wanted{1, count, scatter.row_size};
    const auto view = StridedView::whole(ops.shape(x)).reshape(wanted);
    return view ? ops.move(x, *view, wanted) : none_id;
  };
  const ValueId old_rows = rows(node.inputs[0], scatter.rows),
                new_rows = rows(node.inputs[2], scatter.update_rows);
  if (old_rows == none_id || new_rows == none_id) return std::nullopt;
  const ValueId joined = ops.concatenation({old_rows, new_rows}, 1);
  const ValueId result = select_rows(ops, joined, 1, scatter.list, picker);
  if (result == none_id) return std::nullopt;
  ops.reshape(result, ops.shape(node.outputs[0]), node.outputs[0]);
  patch.remove(id);
  return ProposedFix(patch.take());
}

}  // namespace

std::vector<DetectResult> LRT067(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "STABLEHLO_SCATTER" || node.outputs.size() != 1) continue;
    DetectResult result;
    result.nodes = {id};
    result.value = node.outputs[0];
    const auto scatter = constant_scatter(context.model, context.graph_index, id, result.reason);
    if (!scatter) continue;  // LRT056 says what to do instead
    result.message = fmt::format("{} rows are written into [{}] at constant places", scatter->update_rows,
                                 shape_text(graph.value(node.outputs[0]).shape));
    std::array pickers{RowPicker::moves, RowPicker::gather, RowPicker::pieces};
    if (!takes_constant_gather(context.target)) std::swap(pickers[1], pickers[2]);
    for (const RowPicker picker : pickers)
      if (auto fix = picked(context, id, *scatter, picker)) {
        result.fixes.push_back(std::move(*fix));
        break;
      }
    if (result.fixes.empty()) {
      result.state = DetectResult::State::declined;
      result.reason = "its rows lie too irregularly";
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
