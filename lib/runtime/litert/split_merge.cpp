#include "lib/runtime/litert/split_merge.h"

#include <algorithm>
#include <set>

#include "lib/format/tflite/queries.h"
#include "lib/op/ops.h"
#include "lib/runtime/litert/bhwc.h"

namespace md {
namespace {

constexpr int longest_chain = 64;  ///< elementwise operators behind each other; a bound on the work only

/// Where each node stands in the execution order; a value without producer stands before all.
std::ptrdiff_t position(const Graph& graph, ValueId value) {
  const NodeId node = value < 0 ? none_id : graph.producer(value);
  if (node == none_id) return -1;
  return std::find(graph.order.begin(), graph.order.end(), node) - graph.order.begin();
}

std::optional<std::size_t> place_of(const std::vector<ValueId>& list, ValueId value) {
  const auto at = std::find(list.begin(), list.end(), value);
  if (at == list.end()) return std::nullopt;
  return static_cast<std::size_t>(at - list.begin());
}

/// Taking out (UNPACK) or adding (PACK) the axis leaves the delegate's four axes as they are: no RESHAPE
/// stands between then.
bool keeps_layout(const Shape& with_axis, std::int64_t axis, const Shape& without) {
  Shape one = with_axis;
  if (axis < 0 || axis >= static_cast<std::int64_t>(one.size())) return false;
  one[static_cast<std::size_t>(axis)] = 1;
  return bhwc(one) == bhwc(without);
}

/// Which of the delegate's axes (0 batch ... 3 channels) an axis of this rank is.
int delegate_axis(std::int64_t axis, std::size_t rank) {
  static constexpr int of_rank_2[] = {0, 3}, of_rank_3[] = {0, 2, 3};
  const auto at = static_cast<std::size_t>(axis);
  if (rank == 2 && at < 2) return of_rank_2[at];
  if (rank == 3 && at < 3) return of_rank_3[at];
  return rank == 4 && at < 4 ? static_cast<int>(at) : 0;
}

/// The only node that reads any of the outputs; none_id when there are none or several.
NodeId only_reader_of_all(const Graph& graph, const Node& split) {
  NodeId reader = none_id;
  for (const ValueId out : split.outputs)
    for (const Use& use : graph.uses(out)) {
      if (reader != none_id && reader != use.node) return none_id;
      reader = use.node;
    }
  return reader;
}

/// Positions among the split's outputs of everything that the reader reads; empty when it reads something
/// else, or one of them twice.
std::vector<std::size_t> distinct_outputs(const Node& split, const Node& reader) {
  std::vector<std::size_t> places;
  std::set<ValueId> seen;
  for (const ValueId in : reader.inputs) {
    const auto at = place_of(split.outputs, in);
    if (!at || !seen.insert(in).second) return {};
    places.push_back(*at);
  }
  return places;
}

std::int64_t from_front(std::int64_t axis, int rank) { return axis < 0 ? axis + rank : axis; }

std::optional<SplitMerge::Kind> concatenation_fault(const Graph& graph, const Node& split, const Node& join,
                                                    const std::vector<std::size_t>& places) {
  const Value& part = graph.value(join.inputs.front());
  const Value& whole = graph.value(join.outputs.front());
  const std::int64_t axis = from_front(join.attrs.integer("axis"), whole.rank());
  if (axis < 0 || axis >= whole.rank()) return std::nullopt;
  if (join.op == "PACK" && !keeps_layout(whole.shape, axis, part.shape)) return std::nullopt;
  const Value& data = graph.value(split.inputs[split.op == "SPLIT" ? 1 : 0]);
  const auto cut = split_axis(graph, split);
  if (!cut) return std::nullopt;
  const int cut_at = delegate_axis(*cut, data.shape.size()),
            join_at = delegate_axis(axis, whole.shape.size());
  // The last outputs in order are where they already lie.
  bool last_in_order = places.size() < split.outputs.size() && (places.size() == 1 || join_at == cut_at);
  for (std::size_t i = 0; i < places.size(); ++i)
    last_in_order = last_in_order && places[i] == split.outputs.size() - places.size() + i;
  if (last_in_order) return std::nullopt;
  const bool all_along_the_cut =
      join_at == cut_at && places.size() == split.outputs.size() && places.size() > 1;
  const bool along_the_batch = join_at == 0 && bhwc(part.shape).b == 1 && places.size() > 1;
  return all_along_the_cut || along_the_batch ? SplitMerge::Kind::refused : SplitMerge::Kind::joined;
}

std::optional<SplitMerge> joined(const Graph& graph, NodeId id) {
  const Node& split = graph.node(id);
  const NodeId reader = only_reader_of_all(graph, split);
  if (reader == none_id || graph.node(reader).outputs.empty()) return std::nullopt;
  const Node& join = graph.node(reader);
  const auto places = distinct_outputs(split, join);
  if (places.empty()) return std::nullopt;
  if ((join.op == "ADD" || join.op == "ADD_N") && places.size() == 2)
    return SplitMerge{SplitMerge::Kind::joined, id, reader, join.inputs.back()};
  if (join.op != "CONCATENATION" && join.op != "PACK") return std::nullopt;
  const auto kind = concatenation_fault(graph, split, join, places);
  if (!kind) return std::nullopt;
  return SplitMerge{*kind, id, reader, join.inputs.front()};
}

/// What an elementwise reader of `value`, which a chain from the first output of the split leads to, does.
struct Step {
  bool linked = false;      ///< it is carried out where `value` is written
  ValueId early = none_id;  ///< and reads this output of the split, which is not written yet
};

/// A RESHAPE that leaves the delegate's four axes as they are: it is dropped before anything is merged.
bool is_dropped(const Graph& graph, const Node& node) {
  return node.op == "RESHAPE" && node.inputs.front() >= 0 &&
         bhwc(graph.value(node.inputs.front()).shape) == bhwc(graph.value(node.outputs.front()).shape);
}

/// What the value is when such RESHAPEs above it are gone.
ValueId above_dropped(const Graph& graph, ValueId value) {
  for (int length = 0; length < longest_chain; ++length) {
    const Node* node = producer_of(graph, value);
    if (!node || !is_dropped(graph, *node)) break;
    value = node->inputs.front();
  }
  return value;
}

Step step(const Graph& graph, const Node& split, const Node& reader, ValueId value) {
  if (reader.outputs.size() != 1 ||
      bhwc(graph.value(reader.outputs.front()).shape) != bhwc(graph.value(value).shape))
    return {};
  if (is_dropped(graph, reader)) return {true, none_id};
  const OpSpec* row = row_of(graph, reader);
  if (!row || !row->is_elementwise()) return {};
  const bool two = row->binary || row->compare;
  if (!two && row->primitive != Primitive::select) return {true, none_id};
  if (!two || reader.inputs.size() != 2) return {};
  if (reader.inputs[0] == reader.inputs[1]) return {true, none_id};
  const std::size_t at = reader.inputs[0] == value ? 0 : 1;
  if (is_constant_operand(graph, reader.inputs[1 - at])) return {true, none_id};
  const ValueId other = above_dropped(graph, reader.inputs[1 - at]), base = above_dropped(graph, value);
  const bool commutes = reader.op == "ADD" || reader.op == "MUL";
  if (at == 1 && !commutes) return {};
  // It is linked to the operand that is made last; of two outputs of one node, ADD and MUL take the second.
  const bool sibling = place_of(split.outputs, other).has_value();
  if (sibling && place_of(split.outputs, base))
    return at == (commutes ? 1U : 0U) ? Step{true, other} : Step{};
  if (position(graph, other) >= position(graph, base)) return {};
  return {true, sibling ? other : none_id};
}

std::optional<SplitMerge> linked(const Graph& graph, NodeId id) {
  const Node& split = graph.node(id);
  ValueId value = split.outputs.front();
  for (int length = 0; length < longest_chain; ++length) {
    const NodeId reader = only_reader(graph, value);
    if (reader == none_id || graph.is_output(value)) return std::nullopt;
    const Node& node = graph.node(reader);
    const Step next = step(graph, split, node, value);
    if (!next.linked) return std::nullopt;
    if (next.early != none_id) return SplitMerge{SplitMerge::Kind::linked, id, reader, next.early};
    value = node.outputs.front();
  }
  return std::nullopt;
}

}  // namespace

bool is_split(const Node& node) { return node.op == "SPLIT" || node.op == "SPLIT_V" || node.op == "UNPACK"; }

ValueId split_data(const Node& node) {
  const std::size_t operand = node.op == "SPLIT" ? 1 : 0;
  return is_split(node) && operand < node.inputs.size() ? node.inputs[operand] : none_id;
}

std::optional<std::int64_t> split_axis(const Graph& graph, const Node& node) {
  const std::size_t operand = node.op == "SPLIT" ? 0 : 2;
  if (split_data(node) < 0) return std::nullopt;
  std::int64_t axis = node.attrs.integer("axis");
  if (node.op != "UNPACK") {
    const auto given =
        node.inputs.size() > operand ? integer_values(graph, node.inputs[operand]) : std::nullopt;
    if (!given || given->size() != 1) return std::nullopt;
    axis = given->front();
  }
  const int rank = graph.value(split_data(node)).rank();
  axis = from_front(axis, rank);
  if (axis < 0 || axis >= rank) return std::nullopt;
  return axis;
}

std::optional<SplitMerge> split_merge(const Graph& graph, NodeId split) {
  const Node& node = graph.node(split);
  const auto axis = split_axis(graph, node);
  if (!axis || node.outputs.empty() || node.outputs.front() < 0) return std::nullopt;
  const Value& data = graph.value(split_data(node));
  const bool floats =
      data.dtype == DType::f32 || data.dtype == DType::f16;  // around quantized ones nothing is merged
  if (!floats || data.rank() < 1 || data.rank() > 4 || data.is_constant()) return std::nullopt;
  if (node.op == "UNPACK" && !keeps_layout(data.shape, *axis, graph.value(node.outputs.front()).shape))
    return std::nullopt;
  if (auto found = joined(graph, split)) return found;
  return linked(graph, split);
}

}  // namespace md
