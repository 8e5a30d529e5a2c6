#include "lib/rewrite/aten/branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "lib/format/torch/builder.h"
#include "lib/format/torch/view.h"

namespace md {
namespace {

const Graph* branch_of(const Model& model, std::int32_t index) {
  return index > 0 && static_cast<std::size_t>(index) < model.graphs.size()
             ? &model.graphs[static_cast<std::size_t>(index)]
             : nullptr;
}

bool draws_random_numbers(const Node& node) {
  constexpr std::string_view names[] = {
      "aten.rand",     "aten.randn",       "aten.rand_like",   "aten.randn_like", "aten.randint",
      "aten.randperm", "aten.bernoulli",   "aten.multinomial", "aten.normal",     "aten.uniform",
      "aten.poisson",  "aten.exponential", "aten.randint_like"};
  const std::string base = aten_base(node.op);
  const bool drops = (base == "aten.dropout" || base == "aten.native_dropout") && node.attrs.flag("train");
  return drops || std::find(std::begin(names), std::end(names), base) != std::end(names);
}

/// Why a branch has to be run on its own; empty: it only computes.
std::string effect_of(const Graph& branch) {
  for (const NodeId id : branch.order) {
    const Node& node = branch.node(id);
    if (aten_is_check(node.op)) continue;
    if (!node.subgraphs.empty()) return "a branch holds further regions";
    if (aten_in_place(node.op) || node.op == "buffer_mutation")
      return fmt::format("a branch writes in place ({})", node.op);
    if (draws_random_numbers(node)) return fmt::format("a branch draws random numbers ({})", node.op);
  }
  return {};
}

/// The branch's nodes in the outer graph; what each of its outputs became.
std::vector<ValueId> inlined_branch(AtenBuilder& b, const Graph& branch,
                                    const std::vector<ValueId>& operands) {
  std::map<ValueId, ValueId> mapped;
  for (std::size_t i = 0; i < branch.inputs.size(); ++i) mapped[branch.inputs[i]] = operands[i];
  for (const NodeId id : branch.order) {
    Node copy = branch.node(id);
    if (aten_is_check(copy.op)) continue;
    copy.origins.clear();
    for (ValueId& v : copy.inputs)
      if (v >= 0) v = mapped.count(v) ? mapped[v] : none_id;
    for (ValueId& v : copy.outputs) {
      if (v < 0) continue;
      const Value& value = branch.value(v);
      mapped[v] = b.add_value(value.name, value.dtype, value.shape);
      b.patch().new_values.back().dim_names = value.dim_names;
      v = mapped[v];
    }
    b.add_node(std::move(copy));
  }
  std::vector<ValueId> results;
  for (const ValueId v : branch.outputs) results.push_back(mapped.count(v) ? mapped[v] : none_id);
  return results;
}

/// Empty: the builder holds both branches and the choice; else why the node is kept.
std::string choose(AtenBuilder& b, const Model& model, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.subgraphs.size() != 2 || node.inputs.empty() || node.inputs[0] < 0)
    return "its branches cannot be read";
  const Graph *then = branch_of(model, node.subgraphs[0]), *otherwise = branch_of(model, node.subgraphs[1]);
  if (!then || !otherwise) return "its branches cannot be read";
  const ValueId condition = node.inputs[0];
  if (graph.value(condition).dtype != DType::boolean) return "its condition is no tensor of truth values";
  if (element_count(graph.value(condition).shape).value_or(0) != 1)
    return "its condition has several elements";
  const std::vector<ValueId> operands(node.inputs.begin() + 1, node.inputs.end());
  if (std::any_of(operands.begin(), operands.end(), [](ValueId v) { return v < 0; }))
    return "an operand is a number";
  std::vector<std::vector<ValueId>> results;
  b.remove(id);
  for (const Graph* branch : {then, otherwise}) {
    if (branch->inputs.size() != operands.size() || branch->outputs.size() != node.outputs.size())
      return "a branch takes or gives something else than the call";
    if (std::string effect = effect_of(*branch); !effect.empty()) return effect;
    results.push_back(inlined_branch(b, *branch, operands));
  }
  const ValueId flag = b.rank(condition) == 0 ? condition : b.reshape(condition, {});
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId x = results[0][i], y = results[1][i];
    if (x == none_id || y == none_id || node.outputs[i] < 0)
      return "a branch gives something else than a tensor";
    const Value& out = graph.value(node.outputs[i]);
    if (b.shape(x) != out.shape || b.shape(y) != out.shape || b.dtype(x) != out.dtype ||
        b.dtype(y) != out.dtype)
      return "its branches give tensors of different shapes";
    b.write("aten.where.self", {{"condition", flag}, {"self", x}, {"other", y}}, {}, node.outputs[i]);
  }
  return {};
}

}  // namespace

std::vector<DetectResult> both_branches_of_cond(const DetectContext& context) {
  std::vector<DetectResult> results;
  for (const NodeId id : context.graph.order) {
    if (context.graph.node(id).op != "higher_order.cond") continue;
    AtenBuilder b(context.graph, context.graph_index, "both branches, and where between their results");
    DetectResult result;
    result.nodes = {id};
    result.reason = choose(b, context.model, context.graph, id);
    if (result.reason.empty())
      result.fixes.emplace_back(b.take(), Exactness::exact);
    else
      result.state = DetectResult::State::declined;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace md
