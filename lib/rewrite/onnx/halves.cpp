#include "lib/rewrite/onnx/halves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "lib/graph/encode.h"
#include "lib/op/constants.h"
#include "lib/rewrite/norm_pattern.h"
#include "lib/rewrite/onnx/types.h"

namespace md::onnx {
namespace {

constexpr int longest_island = 12;

template <std::size_t n>
bool is_one_of(std::string_view op, const std::array<std::string_view, n>& ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool is_half(const Graph& graph, ValueId v) { return v >= 0 && graph.value(v).dtype == DType::f16; }

bool squares(const Graph& graph, const Node& node) {
  if (node.op == "Mul") return node.inputs.size() == 2 && node.inputs[0] == node.inputs[1];
  if (node.op != "Pow" || node.inputs.size() != 2) return false;
  const auto power = constant_numbers(graph, node.inputs[1]);
  return power && power->size() == 1 && (*power)[0] == 2;
}

/// The nodes that read the value, when it is an inner one.
std::vector<NodeId> readers(const Graph& graph, ValueId v) {
  std::vector<NodeId> nodes;
  if (graph.is_output(v)) return nodes;
  for (const Use& use : graph.uses(v)) nodes.push_back(use.node);
  return nodes;
}

bool ends_in(const Graph& graph, ValueId v, std::string_view op, int depth) {
  for (const NodeId id : readers(graph, v)) {
    const Node& node = graph.node(id);
    if (node.op == op) return true;
    constexpr std::array<std::string_view, 9> passes = {"Add",     "Mul",       "Div",      "Sub", "Where",
                                                        "Reshape", "Transpose", "Identity", "Clip"};
    if (depth > 0 && is_one_of(node.op, passes) && !node.outputs.empty() &&
        ends_in(graph, node.outputs[0], op, depth - 1))
      return true;
  }
  return false;
}

struct Seed {
  std::string_view what;  ///< passes the largest number of fp16
  bool until_softmax = false;
};

/// What begins at this node passes 65504 for values that fp16 holds; nullopt: nothing does.
std::optional<Seed> seed_at(const Graph& graph, const Node& node) {
  if (!default_domain(node) || node.outputs.empty() || node.inputs.empty() ||
      !is_half(graph, node.outputs[0]))
    return std::nullopt;
  const ValueId out = node.outputs[0];
  const auto read_by = [&](auto test) {
    const std::vector<NodeId> nodes = readers(graph, out);
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return test(graph.node(id)); });
  };
  if (squares(graph, node) &&
      read_by([](const Node& n) { return n.op == "ReduceMean" || n.op == "ReduceSum"; }))
    return Seed{"its squares"};
  if (node.op == "ReduceL2" || node.op == "ReduceSumSquare") return Seed{"the sum of its squares"};
  if (node.op == "ReduceSum" && read_by([&](const Node& n) {
        return n.op == "Div" && n.inputs.size() == 2 && n.inputs[0] == out &&
               graph.value(n.inputs[1]).is_constant();
      }))
    return Seed{"the sum in front of its division"};
  if (node.op == "Exp" && read_by([](const Node& n) { return n.op == "Add"; }) &&
      ends_in(graph, out, "Log", 1))
    return Seed{"the exponential in front of its logarithm"};
  if (node.op == "MatMul" && ends_in(graph, out, "Softmax", 4))
    return Seed{"the product in front of its softmax", true};
  return std::nullopt;
}

/// From the seed on, as far as the numbers may be large; the last node makes them small.
std::vector<NodeId> island(const Graph& graph, NodeId first, bool until_softmax) {
  std::vector<NodeId> nodes = {first};
  std::set<NodeId> seen = {first};
  std::set<ValueId> inverse;
  for (std::size_t i = 0; i < nodes.size() && nodes.size() < longest_island; ++i) {
    const Node& node = graph.node(nodes[i]);
    if (i > 0) {
      const bool by_inverse = node.op == "Mul" && std::any_of(node.inputs.begin(), node.inputs.end(),
                                                              [&](ValueId v) { return inverse.contains(v); });
      const bool closes =
          node.op == "Softmax" || (!until_softmax && (node.op == "Div" || node.op == "Log" || by_inverse));
      if (closes) continue;
      if (node.op == "Reciprocal") inverse.insert(node.outputs[0]);
    }
    if (node.outputs.empty()) continue;
    for (const NodeId reader : readers(graph, node.outputs[0])) {
      constexpr std::array<std::string_view, 17> carried = {
          "Add",     "Sub", "Mul",  "Div",   "Sqrt",    "Reciprocal", "ReduceMean", "ReduceSum", "Log",
          "Softmax", "Max", "Clip", "Where", "Reshape", "Transpose",  "Pow",        "Identity"};
      if (is_one_of(graph.node(reader).op, carried) && default_domain(graph.node(reader)) &&
          seen.insert(reader).second)
        nodes.push_back(reader);
    }
  }
  std::sort(nodes.begin(), nodes.end());  // ids are positions in the file
  return nodes;
}

}  // namespace

std::vector<DetectResult> wide_islands(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  std::set<NodeId> used;
  for (const NodeId id : graph.order) {
    const auto seed = used.contains(id) ? std::nullopt : seed_at(graph, graph.node(id));
    if (!seed) continue;
    const std::vector<NodeId> nodes = island(graph, id, seed->until_softmax);
    PatchBuilder patch(graph, context.graph_index, "computed in float32, with Cast around it");
    OnnxBuilder b(patch, working_set(context.model));
    std::map<ValueId, ValueId> wide;
    DetectResult result = site_of(id, graph.node(id).inputs[0], "");
    result.nodes.clear();
    for (const NodeId node : nodes)
      if (compute_as(b, graph, node, "T", DType::f32, &wide)) result.nodes.push_back(node), used.insert(node);
    if (result.nodes.empty() || result.nodes.front() != id) continue;
    drop_unread_casts(graph, patch, result.nodes);
    result.message = fmt::format("in fp16 {} of \"{}\" pass 65504 for numbers that fp16 holds", seed->what,
                                 graph.value(result.value).name);
    result.words = {{"value", graph.value(result.value).name}};
    result.likelihood = grows_with_inputs(graph, result.value) ? Likelihood::possible : Likelihood::unlikely;
    result.fixes.emplace_back(patch.take()).changes_results = true;  // 0 or NaN before
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<DetectResult> finite_masks(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    const auto id = static_cast<ValueId>(v);
    if (value.dtype != DType::f16 || !value.is_constant() || graph.uses(id).empty()) continue;
    auto numbers = decode(value);
    if (!numbers || std::none_of(numbers->begin(), numbers->end(),
                                 [](double n) { return n == -HUGE_VAL || n <= -65504; }))
      continue;
    const auto uses = graph.uses(id);
    const bool mask = std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      const Node& node = graph.node(use.node);
      return (node.op == "Mul" || node.op == "Add" || node.op == "Where") && !node.outputs.empty() &&
             (ends_in(graph, node.outputs[0], "Softmax", 4) || node.op == "Mul");
    });
    if (!mask) continue;
    for (double& n : *numbers)
      if (n <= -65504) n = -1e4;
    PatchBuilder patch(graph, context.graph_index, "masked with -1e4, which fp16 holds");
    const ValueId finite = patch.add_constant(value.name, DType::f16, value.shape, *numbers);
    for (const Use& use : uses) patch.rewire(use.node, use.operand, finite);
    DetectResult result = site_of(
        uses.front().node, id,
        fmt::format(
            "the mask \"{}\" holds -inf, or the lowest number of fp16: times 0, added twice or in a row "
            "that is masked as a whole it gives NaN",
            value.name));
    result.likelihood = Likelihood::possible;
    result.fixes.emplace_back(patch.take());
    result.fixes.back().changes_results = true;
    result.fixes.back().assumes = true;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md::onnx
