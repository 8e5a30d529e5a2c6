#include "lib/rewrite/plain_slice.h"

#include <algorithm>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"

namespace md {
namespace {

bool has(std::int64_t mask, std::size_t bit) { return bit < 63 && (mask >> bit & 1) != 0; }

/// Index into an axis as Python does: negative from the end, then clamped to what a slice in this direction
/// may reach.
std::int64_t clamped(std::int64_t index, std::int64_t size, bool backwards) {
  if (index < 0) index += size;
  return backwards ? std::clamp<std::int64_t>(index, -1, size - 1) : std::clamp<std::int64_t>(index, 0, size);
}

}  // namespace

bool ResolvedSlice::backwards() const {
  for (std::size_t i = 0; i < step.size(); ++i)
    if (step[i] < 0 && count[i] > 1) return true;
  return false;
}

std::optional<ResolvedSlice> resolve_slice(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 4 || node.attrs.flag("offset")) return std::nullopt;
  const Value& input = graph.value(node.inputs[0]);
  const auto begin = integer_values(graph, node.inputs[1]), end = integer_values(graph, node.inputs[2]),
             stride = integer_values(graph, node.inputs[3]);
  if (!is_static(input) || !is_static(graph.value(node.outputs[0])) || !begin || !end || !stride)
    return std::nullopt;
  if (begin->size() != end->size() || begin->size() != stride->size()) return std::nullopt;
  const auto mask = [&](const char* name) { return node.attrs.integer(name); };
  const std::int64_t begin_mask = mask("begin_mask"), end_mask = mask("end_mask"),
                     ellipsis = mask("ellipsis_mask"), new_axis = mask("new_axis_mask"),
                     shrink = mask("shrink_axis_mask");
  std::size_t real = 0;  // entries of the specification that stand for an axis of the input
  for (std::size_t i = 0; i < begin->size(); ++i) real += !has(new_axis, i) && !has(ellipsis, i);
  if (real > input.shape.size()) return std::nullopt;
  int ellipses = 0;
  for (std::size_t i = 0; i < begin->size(); ++i) ellipses += has(ellipsis, i);
  if (ellipses > 1) return std::nullopt;  // the runtime takes one, and says so
  ResolvedSlice out;
  std::size_t axis = 0;
  const auto whole = [&](std::size_t axes) {
    for (; axes > 0; --axes, ++axis) {
      out.begin.push_back(0);
      out.step.push_back(1);
      out.count.push_back(input.shape[axis]);
    }
  };
  for (std::size_t i = 0; i < begin->size(); ++i) {
    if (has(ellipsis, i)) {
      whole(input.shape.size() - real);
      continue;
    }
    if (has(new_axis, i)) continue;
    const std::int64_t size = input.shape[axis], step = (*stride)[i];
    if (step == 0) return std::nullopt;
    if (has(shrink, i)) {
      std::int64_t at = (*begin)[i] < 0 ? (*begin)[i] + size : (*begin)[i];
      if (at < 0 || at >= size) return std::nullopt;
      out.begin.push_back(at);
      out.step.push_back(1);
      out.count.push_back(1);
    } else {
      const bool back = step < 0;
      const std::int64_t first =
          has(begin_mask, i) ? (back ? size - 1 : 0) : clamped((*begin)[i], size, back);
      const std::int64_t last = has(end_mask, i) ? (back ? -1 : size) : clamped((*end)[i], size, back);
      const std::int64_t span = back ? first - last : last - first, pace = back ? -step : step;
      out.begin.push_back(first);
      out.step.push_back(step);
      out.count.push_back(span <= 0 ? 0 : (span + pace - 1) / pace);
    }
    ++axis;
  }
  if (axis < input.shape.size()) whole(input.shape.size() - axis);
  std::int64_t elements = 1;
  for (const std::int64_t n : out.count) elements *= n;
  if (elements == 0 || element_count(graph.value(node.outputs[0]).shape) != elements) return std::nullopt;
  return out;
}

Patch plain_slice_patch(const Graph& graph, int graph_index, NodeId id, const ResolvedSlice& slice,
                        std::string title) {
  const Node& node = graph.node(id);
  PatchBuilder patch(graph, graph_index, std::move(title));
  TfliteBuilder ops(patch);
  ValueId x = node.inputs[0];
  std::vector<std::int64_t> begin = slice.begin, step = slice.step, end, reversed;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (slice.count[i] == 1) step[i] = 1;
    if (step[i] >= 0) continue;
    reversed.push_back(static_cast<std::int64_t>(i));
    begin[i] = ops.shape(x)[i] - 1 - begin[i];
    step[i] = -step[i];
  }
  const Shape out = ops.shape(node.outputs[0]);
  if (!reversed.empty()) {
    const ValueId flipped = ops.value_like(x, ops.shape(x));
    patch.add_node("REVERSE_V2", {x, ops.int32s(reversed)}, {flipped});
    x = flipped;
  }
  const bool contiguous = std::all_of(step.begin(), step.end(), [](std::int64_t s) { return s == 1; });
  const bool everything = contiguous && slice.count == ops.shape(x);
  for (std::size_t i = 0; i < begin.size(); ++i) end.push_back(begin[i] + (slice.count[i] - 1) * step[i] + 1);
  if (!everything) x = contiguous ? ops.slice(x, begin, slice.count) : ops.strided_slice(x, begin, end, step);
  if (!patch.patch().new_nodes.empty() && ops.shape(x) == out) {
    patch.patch().new_nodes.back().outputs[0] = node.outputs[0];
  } else {
    ops.reshape(x, out, node.outputs[0]);
  }
  patch.remove(id);
  return patch.take();
}

DetectResult plain_slice_finding(const DetectContext& context, NodeId id, std::string title) {
  const Node& node = context.graph.node(id);
  DetectResult result;
  result.nodes = {id};
  result.value = node.outputs[0];
  const auto slice = resolve_slice(context.graph, node);
  if (!slice) {
    result.state = DetectResult::State::declined;
    result.reason = "its shapes or bounds are not known before run time";
  } else {
    result.fixes.emplace_back(
        plain_slice_patch(context.graph, context.graph_index, id, *slice, std::move(title)));
  }
  return result;
}

}  // namespace md
