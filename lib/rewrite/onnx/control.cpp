// Branches and loops that constants decide; nodes that are in training mode.
#include <fmt/format.h>

#include <algorithm>

#include "lib/format/onnx/operators.h"
#include "lib/op/constants.h"
#include "lib/rewrite/inline_graph.h"
#include "lib/rewrite/onnx/structure.h"
#include "lib/rewrite/unused_nodes.h"

namespace md::onnx {
namespace {

constexpr std::int64_t most_copies = 64;  // of a loop's body

const Graph* called(const Model& model, const Node& node, std::string_view attribute) {
  const std::int64_t g = node.attrs.integer(attribute, -1);
  return g >= 0 && g < static_cast<std::int64_t>(model.graphs.size())
             ? &model.graphs[static_cast<std::size_t>(g)]
             : nullptr;
}

/// What the values of `from` on are called stays behind in the file; results go where the call's went.
void give_results(PatchBuilder& patch, const std::vector<ValueId>& made, const std::vector<ValueId>& wanted) {
  for (std::size_t r = 0; r < wanted.size() && r < made.size(); ++r)
    if (wanted[r] >= 0) patch.add_node("Identity", {made[r]}, {wanted[r]}, {}, 0);
}

std::optional<Patch> taken_branch(const DetectContext& context, NodeId id, bool value) {
  const Node& node = context.graph.node(id);
  const Graph* body = called(context.model, node, value ? "then_branch" : "else_branch");
  if (!body || node.inputs.empty()) return std::nullopt;
  PatchBuilder patch(context.graph, context.graph_index,
                     fmt::format("the branch that is taken, {}", value ? "then" : "else"));
  const std::vector<ValueId> arguments(node.inputs.begin() + 1, node.inputs.end());
  const auto results = inline_graph(patch, *body, arguments);
  if (!results) return std::nullopt;
  for (Node& copy : patch.patch().new_nodes) copy.name.clear();
  give_results(patch, *results, node.outputs);
  patch.remove(id);
  remove_unused(patch);
  return patch.take();
}

/// The body hands its condition on, or makes a constant true.
bool goes_on(const Graph& body) {
  if (body.outputs.empty() || body.inputs.size() < 2) return false;
  ValueId condition = body.outputs[0];
  for (int steps = 0; steps < 8; ++steps) {
    if (condition == body.inputs[1]) return true;
    if (body.value(condition).is_constant()) {
      const auto numbers = constant_integers(body, condition);
      const auto real = constant_numbers(body, condition);
      return (numbers && numbers->size() == 1 && (*numbers)[0] != 0) ||
             (real && real->size() == 1 && (*real)[0] != 0);
    }
    const NodeId maker = body.producer(condition);
    if (maker == none_id || (body.node(maker).op != "Identity" && body.node(maker).op != "Cast"))
      return false;
    condition = body.node(maker).inputs[0];
  }
  return false;
}

bool is_true(const Graph& graph, ValueId value) {
  const auto numbers = constant_numbers(graph, value);
  return numbers && numbers->size() == 1 && (*numbers)[0] != 0;
}

std::optional<Patch> unrolled(const DetectContext& context, NodeId id, std::int64_t trips,
                              std::string& reason) {
  const Node& node = context.graph.node(id);
  const Graph* body = called(context.model, node, "body");
  const auto captured =
      static_cast<std::size_t>(std::max<std::int64_t>(0, node.attrs.integer("#captured", 0)));
  if (!body || node.inputs.size() < 2 + captured || body->inputs.size() != node.inputs.size() ||
      !goes_on(*body) || trips > most_copies || trips < 1) {
    reason = trips > most_copies ? fmt::format("{} copies of its body would be too many", trips)
                                 : "its condition is computed";
    return std::nullopt;
  }
  const std::size_t carried = node.inputs.size() - 2 - captured;
  if (body->outputs.size() < 1 + carried) return std::nullopt;
  PatchBuilder patch(context.graph, context.graph_index, fmt::format("the loop's body {} times", trips));
  OnnxBuilder b(patch, working_set(context.model));
  std::vector<ValueId> state(node.inputs.begin() + 2,
                             node.inputs.begin() + 2 + static_cast<std::ptrdiff_t>(carried));
  std::vector<std::vector<ValueId>> scans(body->outputs.size() - 1 - carried);
  const double yes[] = {1};
  const ValueId go = patch.add_constant("go_on", DType::boolean, {}, yes);
  for (std::int64_t trip = 0; trip < trips; ++trip) {
    std::vector<ValueId> arguments = {b.int64(trip), go};
    arguments.insert(arguments.end(), state.begin(), state.end());
    arguments.insert(arguments.end(), node.inputs.end() - static_cast<std::ptrdiff_t>(captured),
                     node.inputs.end());
    const auto results = inline_graph(patch, *body, arguments);
    if (!results) return std::nullopt;
    for (std::size_t i = 0; i < carried; ++i) state[i] = (*results)[1 + i];
    for (std::size_t i = 0; i < scans.size(); ++i)
      scans[i].push_back(b.unsqueeze((*results)[1 + carried + i], {0}));
  }
  for (Node& copy : patch.patch().new_nodes) copy.name.clear();
  for (const std::vector<ValueId>& slices : scans) state.push_back(b.concat(slices, 0));
  give_results(patch, state, node.outputs);
  patch.remove(id);
  remove_unused(patch);
  return patch.take();
}

}  // namespace

std::vector<DetectResult> decided_control(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (!default_domain(node) || node.inputs.empty() || node.outputs.empty()) continue;
    std::optional<Patch> patch;
    DetectResult result = site_of(id, node.outputs[0], "");
    if (node.op == "If") {
      const auto condition = constant_numbers(graph, node.inputs[0]);
      if (!condition || condition->size() != 1) continue;
      result.message =
          fmt::format("\"{}\" (If) has a constant condition: one branch is never taken", node.name);
      patch = taken_branch(context, id, (*condition)[0] != 0);
    } else if (node.op == "Loop") {
      const auto trips = node.inputs[0] < 0 ? std::nullopt : constant_integers(graph, node.inputs[0]);
      const ValueId condition = operand(node, 1);
      if (!trips || trips->size() != 1 || (condition >= 0 && !is_true(graph, condition))) continue;
      result.message =
          fmt::format("\"{}\" (Loop) runs its body {} times, which is known", node.name, (*trips)[0]);
      patch = unrolled(context, id, (*trips)[0], result.reason);
    } else {
      continue;
    }
    if (patch)
      result.fixes.emplace_back(std::move(*patch));
    else
      result.state = DetectResult::State::declined;
    if (!patch && result.reason.empty()) result.reason = "its body does not fit its operands";
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<DetectResult> training_nodes(const DetectContext& context) {
  std::vector<DetectResult> results;
  const Graph& graph = context.graph;
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (!default_domain(node) || node.inputs.empty() || node.outputs.empty()) continue;
    const bool norm = node.op == "BatchNormalization" && node.attrs.integer("training_mode", 0) != 0;
    const bool drop = node.op == "Dropout" && ((operand(node, 2) >= 0 && is_true(graph, node.inputs[2])) ||
                                               (node.version < 7 && node.attrs.integer("is_test", 0) == 0));
    if (!norm && !drop) continue;
    DetectResult result = site_of(
        id, node.outputs[0],
        norm ? fmt::format(
                   "\"{}\" (BatchNormalization) is in training mode: it uses the statistics of the batch",
                   node.name)
             : fmt::format("\"{}\" (Dropout) is in training mode: it drops elements at random", node.name));
    result.words = {{"op", node.op}};
    const bool read = std::any_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueId v) {
      return v >= 0 && (!graph.uses(v).empty() || graph.is_output(v));
    });
    if (read) {
      results.push_back(declined(id, std::move(result.message), "its further results are read"));
      continue;
    }
    PatchBuilder patch(graph, context.graph_index,
                       norm ? "BatchNormalization with the statistics of training" : "without Dropout");
    OnnxBuilder b(patch, working_set(context.model));
    if (norm) {
      Attributes attrs = node.attrs;
      attrs.erase("training_mode");
      attrs.erase("momentum");
      b.add("BatchNormalization", node.inputs, std::move(attrs), node.outputs[0]);
    } else {
      b.identity(node.inputs[0], node.outputs[0]);
    }
    patch.remove(id);
    result.fixes.emplace_back(patch.take());
    result.fixes.back().assumes = true;
    result.fixes.back().changes_results = true;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md::onnx
