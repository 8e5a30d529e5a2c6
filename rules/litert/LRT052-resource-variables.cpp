// State kept in resource variables (VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE): each state becomes an input
// and an output.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/format/tflite/builder.h"
#include "lib/format/tflite/queries.h"
#include "lib/graph/encode.h"
#include "lib/rule/page/detector.h"

namespace md {
namespace {

struct State {
  std::string name;
  std::vector<NodeId> reads, writes;
  ValueId first_read = none_id, last_written = none_id;
};

std::string variable_name(const Graph& graph, ValueId handle) {
  const Node* node = producer_of(graph, handle);
  if (!node || node->op != "VAR_HANDLE") return {};
  const std::string_view shared = node->attrs.text("shared_name");
  return shared.empty() ? graph.value(handle).name : std::string(shared);
}

/// Start values from the graphs that CALL_ONCE runs: "all 0", "all -128", or "not constant".
std::string start_value(const Model& model, const std::string& name) {
  for (const Graph& graph : model.graphs)
    for (const NodeId id : graph.order) {
      const Node& node = graph.node(id);
      if (node.op != "ASSIGN_VARIABLE" || node.inputs.size() < 2 ||
          variable_name(graph, node.inputs[0]) != name)
        continue;
      const auto numbers = decode(graph.value(node.inputs[1]));
      if (!numbers || numbers->empty()) continue;
      const bool same =
          std::all_of(numbers->begin(), numbers->end(), [&](double v) { return v == numbers->front(); });
      return same ? fmt::format("all {}", numbers->front())
                  : fmt::format("the stored constant \"{}\"", graph.value(node.inputs[1]).name);
    }
  return "unknown";
}

/// A state must be read once at most before it is written last: then the value read is the input, the last
/// written the output.
bool collect(const Graph& graph, std::map<std::string, State>& states, std::vector<NodeId>& plumbing) {
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    if (node.op == "VAR_HANDLE" || node.op == "CALL_ONCE") plumbing.push_back(id);
    if (node.op != "READ_VARIABLE" && node.op != "ASSIGN_VARIABLE") continue;
    const std::string name = variable_name(graph, node.inputs[0]);
    if (name.empty()) return false;
    State& state = states[name];
    state.name = name;
    if (node.op == "READ_VARIABLE") {
      if (!state.writes.empty()) return false;
      state.reads.push_back(id);
      if (state.first_read == none_id) state.first_read = node.outputs[0];
    } else {
      state.writes.push_back(id);
      state.last_written = node.inputs[1];
    }
  }
  return std::all_of(states.begin(), states.end(), [](const auto& entry) {
    return !entry.second.reads.empty() && !entry.second.writes.empty();
  });
}

}  // namespace

std::vector<DetectResult> LRT052(const DetectContext& context) {
  const Graph& graph = context.graph;
  if (context.graph_index != 0) return {};
  std::map<std::string, State> states;
  std::vector<NodeId> plumbing;
  const bool plain = collect(graph, states, plumbing);
  if (states.empty()) return {};
  DetectResult result;
  std::string starts;
  for (const auto& [name, state] : states) {
    result.nodes.insert(result.nodes.end(), state.reads.begin(), state.reads.end());
    result.nodes.insert(result.nodes.end(), state.writes.begin(), state.writes.end());
    starts +=
        fmt::format("{}\"{}\" ({})", starts.empty() ? "" : ", ", name, start_value(context.model, name));
  }
  result.nodes.insert(result.nodes.end(), plumbing.begin(), plumbing.end());
  result.message =
      fmt::format("{} state variables inside the model: the accelerator has none. Start values: {}",
                  states.size(), starts);
  if (!plain) {
    result.state = DetectResult::State::advice;
    result.reason =
        "a variable is read after it was written, or only read or written: export the model with its state "
        "as inputs and outputs";
    return {std::move(result)};
  }
  PatchBuilder patch(graph, context.graph_index, "states as inputs and outputs");
  TfliteBuilder ops(patch);
  std::vector<ValueId> inputs = graph.inputs, outputs = graph.outputs;
  for (const auto& [name, state] : states) {
    const ValueId in = ops.value_like(state.first_read, ops.shape(state.first_read));
    patch.patch().new_values.back().name = name;
    inputs.push_back(in);
    for (const NodeId read : state.reads) {
      for (const Use& use : graph.uses(graph.node(read).outputs[0])) patch.rewire(use.node, use.operand, in);
      patch.remove(read);
    }
    const bool passed = graph.is_input(state.last_written) || graph.value(state.last_written).is_constant() ||
                        state.last_written == state.first_read;
    const ValueId written = state.last_written == state.first_read ? in : state.last_written;
    const ValueId out = passed || graph.is_output(state.last_written)
                            ? ops.reshape(written, ops.shape(state.first_read))
                            : written;
    outputs.push_back(out);
    for (const NodeId write : state.writes) patch.remove(write);
  }
  for (const NodeId id : plumbing) patch.remove(id);
  patch.patch().graph_inputs = std::move(inputs);
  patch.patch().graph_outputs = std::move(outputs);
  ProposedFix fix(patch.take());
  fix.unsafe = true;
  fix.unsafe_reason =
      "the model gets an input and an output for each state; the caller keeps it between runs";
  result.fixes.push_back(std::move(fix));
  return {std::move(result)};
}

}  // namespace md
