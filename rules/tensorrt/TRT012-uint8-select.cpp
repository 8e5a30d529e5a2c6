#include <algorithm>
#include <map>
#include <set>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

bool moves(const std::string& base) {
  constexpr std::string_view names[] = {
      "aten.select",    "aten.slice",  "aten.view",         "aten.reshape",   "aten.permute",
      "aten.transpose", "aten.index",  "aten.index_select", "aten.unsqueeze", "aten.squeeze",
      "aten.flatten",   "aten.expand", "aten.narrow",       "aten.flip",      "aten.cat",
      "aten.stack",     "aten.repeat", "aten.clone",        "aten.contiguous"};
  return std::find(std::begin(names), std::end(names), base) != std::end(names);
}

/// Node that only moves uint8 elements.
bool moves_bytes(const Graph& graph, const Node& node) {
  return node.outputs.size() == 1 && graph.value(node.outputs[0]).dtype == DType::u8 &&
         moves(aten_base(node.op));
}

bool is_cast(const Node& node) {
  return (aten_base(node.op) == "aten.to" || aten_base(node.op) == "aten._to_copy") &&
         node.outputs.size() == 1;
}

}  // namespace

std::vector<DetectResult> TRT012(const DetectContext& context) {
  const Graph& graph = context.graph;
  std::vector<NodeId> moving;
  std::set<ValueId> retyped;
  for (const NodeId id : graph.order)
    if (moves_bytes(graph, graph.node(id))) moving.push_back(id), retyped.insert(graph.node(id).outputs[0]);
  if (moving.empty()) return {};
  AtenBuilder b(graph, context.graph_index, "cast to float32 in front of it");
  std::map<ValueId, ValueId> floats;  // uint8 values that come from elsewhere -> their float form
  for (const NodeId id : moving) {
    const Node& node = graph.node(id);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId v = node.inputs[i];
      if (v < 0 || graph.value(v).dtype != DType::u8 || retyped.count(v)) continue;
      if (!floats.count(v)) floats[v] = b.to(v, DType::f32);
      b.rewire(id, static_cast<int>(i), floats[v]);
    }
  }
  for (const ValueId v : retyped) {
    const Value& value = graph.value(v);
    ValueId bytes = none_id;  // what readers that want uint8 read
    if (graph.is_output(v)) {
      const ValueId moved = b.add_value(value.name + "_float", DType::f32, value.shape);
      b.patch().new_values.back().dim_names = value.dim_names;
      NodeChange change;
      change.node = graph.producer(v);
      change.outputs.emplace_back(0, moved);
      b.change(std::move(change));
      b.result_into(v);
      b.to(moved, DType::u8);
      for (const Use& use : graph.uses(v))
        if (moves_bytes(graph, graph.node(use.node))) b.rewire(use.node, use.operand, moved);
      continue;
    }
    ValueChange& change = b.patch().value_changes.emplace_back();
    change.value = v;
    change.dtype = DType::f32;
    for (const Use& use : graph.uses(v)) {
      const Node& reader = graph.node(use.node);
      if (moves_bytes(graph, reader)) continue;
      if (aten_is_check(reader.op)) {
        b.remove(use.node);
      } else if (is_cast(reader) && graph.value(reader.outputs[0]).dtype == DType::f32) {
        b.bypass(use.node, reader.outputs[0], v);
      } else if (!is_cast(reader)) {
        if (bytes == none_id) bytes = b.to(v, DType::u8);
        b.rewire(use.node, use.operand, bytes);
      }
    }
  }
  DetectResult result;
  result.nodes = moving;
  result.message =
      "uint8 elements are moved inside the network; TensorRT takes uint8 at inputs and outputs only";
  result.fixes.emplace_back(b.take());
  return {std::move(result)};
}

}  // namespace md
