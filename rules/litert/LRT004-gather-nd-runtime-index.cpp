// GATHER_ND whose indices come from the model's inputs: a GATHER with 1-D int32 indices picks the same rows.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/eval/fold.h"
#include "lib/format/tflite/builder.h"
#include "lib/graph/encode.h"
#include "lib/rewrite/grid_sample.h"
#include "lib/rule/page/detector.h"

namespace md {

namespace {

/// The 1-D list of rows as a runtime value: the index itself, or index components times the sizes behind
/// them, summed.
ValueId flat_rows(TfliteBuilder& build, const Graph& graph, ValueId indices, const Shape& data) {
  const Shape& shape = graph.value(indices).shape;
  const std::int64_t axes = shape.back();
  const std::int64_t count = *element_count(shape) / axes;
  if (axes == 1) return shape.size() == 1 ? indices : build.reshape(indices, {count});
  std::vector<double> steps(static_cast<std::size_t>(axes), 1.0);
  for (std::size_t a = steps.size() - 1; a-- > 0;) steps[a] = steps[a + 1] * static_cast<double>(data[a + 1]);
  const ValueId table = build.reshape(indices, {1, 1, count, axes});
  const ValueId weights = build.floats("row_sizes", {1, 1, 1, axes}, steps, DType::i32);
  const ValueId scaled = build.binary("MUL", table, weights);
  return build.reshape(build.reduce("SUM", scaled, Shape{3}), {count});
}

void gather_rows(PatchBuilder& patch, NodeId id, ValueId indices) {
  const Graph& graph = patch.graph();
  const Node& node = graph.node(id);
  const ValueId data = node.inputs[0], out = node.outputs[0];
  const Shape& whole = graph.value(data).shape;
  const auto axes = static_cast<std::size_t>(graph.value(indices).shape.back());
  TfliteBuilder build(patch);
  const ValueId rows = flat_rows(build, graph, indices, whole);
  ValueId table = data;
  if (axes > 1 || whole.size() > 4) {
    std::int64_t count = 1, size = 1;
    for (std::size_t d = 0; d < whole.size(); ++d) (d < axes ? count : size) *= whole[d];
    table = build.reshape(data, {count, 1, 1, size});
  }
  Shape picked = build.shape(table);
  picked.front() = build.shape(rows).front();
  const Shape& wanted = graph.value(out).shape;
  const ValueId y = build.gather(table, rows, 0, picked == wanted ? out : none_id);
  if (y != out) build.reshape(y, wanted, out);
  patch.remove(id);
}

/// The values of type int64 that the indices are made from, up to the graph inputs; empty when another value
/// hangs on them.
std::set<ValueId> int64_cone(const Graph& graph, ValueId indices) {
  std::set<ValueId> cone;
  std::vector<ValueId> pending{indices};
  std::set<ValueId> seen;
  while (!pending.empty()) {
    const ValueId v = pending.back();
    pending.pop_back();
    if (v < 0 || !seen.insert(v).second) continue;
    if (graph.value(v).dtype == DType::i64) cone.insert(v);
    if (const NodeId maker = graph.producer(v); maker != none_id)
      for (const ValueId in : graph.node(maker).inputs) pending.push_back(in);
  }
  return cone;
}

/// int32 throughout, from the graph input on. False: the numbers do not fit, or something else reads them.
bool make_int32(PatchBuilder& patch, const std::set<ValueId>& cone) {
  const Graph& graph = patch.graph();
  for (const ValueId v : cone) {
    const Value& value = graph.value(v);
    if (graph.is_output(v)) return false;
    ValueChange change;
    change.value = v;
    change.dtype = DType::i32;
    if (value.is_constant()) {
      const auto numbers = decode(value);
      const auto fits = [](double x) { return x >= -2147483648.0 && x <= 2147483647.0; };
      if (!numbers || !std::all_of(numbers->begin(), numbers->end(), fits)) return false;
      change.constant = Constant::own(encode(DType::i32, value.shape, *numbers));
    }
    patch.change(std::move(change));
    for (const Use& use : graph.uses(v)) {
      const Node& reader = graph.node(use.node);
      if (reader.outputs.empty()) return false;
      const ValueId out = reader.outputs.front();
      if (reader.op == "CAST" && graph.value(out).dtype == DType::i32) {
        if (graph.is_output(out)) return false;
        for (const Use& next : graph.uses(out)) patch.rewire(next.node, next.operand, v);
        patch.remove(use.node);
      } else if (cone.count(out) == 0 && graph.value(out).dtype != DType::boolean) {
        return false;
      }
    }
  }
  return true;
}

std::optional<ProposedFix> fix_of(const DetectContext& context, NodeId id) {
  const Graph& graph = context.graph;
  ValueId indices = graph.node(id).inputs[1];
  const std::set<ValueId> cone = int64_cone(graph, indices);
  PatchBuilder patch(graph, context.graph_index, "GATHER with the indices as a 1-D list");
  ProposedFix fix;
  if (!cone.empty()) {
    if (!make_int32(patch, cone)) return std::nullopt;
    const NodeId maker = graph.producer(indices);
    if (maker != none_id && graph.node(maker).op == "CAST" && cone.count(graph.node(maker).inputs[0]) != 0)
      indices = graph.node(maker).inputs[0];
    std::erase_if(patch.patch().rewires, [&](const Rewire& r) { return r.node == id; });
    patch.patch().title = "int32 indices from the model's input on, and GATHER";
    const auto input = std::find_if(cone.begin(), cone.end(), [&](ValueId v) { return graph.is_input(v); });
    fix.unsafe = true;
    fix.unsafe_reason =
        input == cone.end()
            ? "assumes that every index fits int32"
            : fmt::format("the input \"{}\" takes int32 instead of int64 numbers", graph.value(*input).name);
  }
  const std::size_t rank = graph.value(graph.node(id).inputs[0]).shape.size();
  const Shape& list = graph.value(indices).shape;
  if (list.empty() || list.back() < 1 || static_cast<std::size_t>(list.back()) > rank) return std::nullopt;
  gather_rows(patch, id, indices);
  fix.patch = patch.take();
  return fix;
}

}  // namespace

std::vector<DetectResult> LRT004(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<DetectResult> results;
  const std::set<NodeId> sampled = grid_sample_nodes(graph);
  for (const NodeId id : context.roots()) {
    const Node& node = graph.node(id);
    if (node.op != "GATHER_ND" || node.inputs.size() < 2 || node.outputs.empty() || sampled.count(id) != 0)
      continue;
    const ValueId indices = node.inputs[1];
    if (depends_on_constants_only(graph, indices)) continue;
    const Value& index = graph.value(indices);
    DetectResult found;
    found.nodes = {id};
    found.value = indices;
    found.message = fmt::format("rows of \"{}\" are picked by \"{}\", which is known at run time only",
                                graph.value(node.inputs[0]).name, index.name);
    if (!element_count(index.shape) || !element_count(graph.value(node.inputs[0]).shape) ||
        index.shape.empty() || index.shape.back() < 1 || *element_count(index.shape) < 1) {
      found.state = DetectResult::State::advice;
      found.reason = "its shape is not known before run time: pin the shapes, or do the look-up on the host";
      results.push_back(std::move(found));
      continue;
    }
    if (auto fix = fix_of(context, id)) {
      found.fixes.push_back(std::move(*fix));
    } else {
      found.state = DetectResult::State::advice;
      found.reason =
          "the index is made in int64, which the accelerator does not take, and other results need it so";
    }
    results.push_back(std::move(found));
  }
  return results;
}

}  // namespace md
