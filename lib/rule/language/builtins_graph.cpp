// Functions of the rule language about the graph around the match, and about the target.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/eval/fold.h"
#include "lib/graph/queries.h"
#include "lib/op/constants.h"
#include "lib/op/dialect.h"
#include "lib/rewrite/constant_scatter.h"
#include "lib/rewrite/output_hazard.h"
#include "lib/rule/language/builtin_parts.h"
#include "lib/rule/page/detector.h"
#include "lib/rule/page/operator_index.h"

namespace md::builtin {
namespace {

const Node* maker_of(const Scope& scope, ValueId id) {
  const NodeId node = id < 0 ? none_id : scope.graph.producer(id);
  return node == none_id ? nullptr : &scope.graph.node(node);
}

Evaluated custom(const Scope& scope, Args args) {
  const Node* node = maker_of(scope, id_at(args, 0));
  return node ? Datum::of(node->custom) : Datum();
}

/// Texts joined: "", "a", "a and b", "a, b".
Evaluated listed(const std::vector<std::string>& texts, std::string_view between) {
  std::string out;
  for (const std::string& text : texts) out += fmt::format("{}{}", out.empty() ? "" : between, text);
  return Datum::of(std::move(out));
}

/// A value that is there and no constant.
bool is_computed(const Graph& graph, ValueId id) { return id >= 0 && !is_constant(graph, id); }

/// The computed values that the operator reads, by name.
Evaluated reads(const Scope& scope, Args args) {
  const Node* node = maker_of(scope, id_at(args, 0));
  if (!node) return no("nothing produces it");
  std::vector<std::string> names;
  for (const ValueId v : node->inputs)
    if (is_computed(scope.graph, v)) names.push_back("\"" + scope.graph.value(v).name + "\"");
  return listed(names, ", ");
}

/// The same with shapes.
Evaluated reads_shaped(const Scope& scope, Args args) {
  const Node* node = maker_of(scope, id_at(args, 0));
  if (!node) return no("nothing produces it");
  std::vector<std::string> names;
  for (const ValueId v : node->inputs)
    if (is_computed(scope.graph, v))
      names.push_back(
          fmt::format("\"{}\" [{}]", scope.graph.value(v).name, shape_text(scope.graph.value(v).shape)));
  return listed(names, " and ");
}

/// The operator that alone reads a value which is no output; none otherwise.
Evaluated only_reader_of(const Scope& scope, Args args) {
  const ValueId id = id_at(args, 0);
  if (id < 0 || scope.graph.is_output(id)) return Datum();
  const NodeId reader = only_reader(scope.graph, id);
  return reader == none_id ? Datum() : Datum::of(scope.graph.node(reader).op);
}

/// "linked", "merged padding", "merged scale", "reduced sum": how the GPU delegate loses an output; none.
Evaluated hazard(const Scope& scope, Args args) {
  const ValueId id = id_at(args, 0);
  const auto found = id < 0 ? std::nullopt : output_hazard(scope.graph, id);
  if (!found) return Datum();
  switch (found->kind) {
    case OutputHazard::Kind::linked:
      return Datum::of(std::string("linked"));
    case OutputHazard::Kind::merged_scale:
      return Datum::of(std::string("merged scale"));
    case OutputHazard::Kind::reduced_sum:
      return Datum::of(std::string("reduced sum"));
    case OutputHazard::Kind::merged_padding:
      return Datum::of(std::string("merged padding"));
  }
  return Datum();
}

Evaluated is_made_from_constants(const Scope& scope, Args args) {
  const ValueId id = id_at(args, 0);
  return Datum::of(id >= 0 && depends_on_constants_only(scope.graph, id));
}

Evaluated non_negative(const Scope& scope, Args args) {
  const auto range = known_range(scope.graph, id_at(args, 0));
  return Datum::of(range && range->low >= 0);
}

Evaluated nodes(const Scope& scope, Args) { return Datum::of(static_cast<double>(scope.graph.order.size())); }

/// The most frequent operator of the graph: .op and .count
Evaluated commonest(const Scope& scope, Args) {
  std::map<std::string_view, std::size_t> counts;
  for (const NodeId id : scope.graph.order) ++counts[scope.graph.node(id).op];
  if (counts.empty()) return Datum();
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  auto record = std::make_shared<std::map<std::string, Datum, std::less<>>>();
  record->emplace("op", Datum::of(std::string(most->first)));
  record->emplace("count", Datum::of(static_cast<double>(most->second)));
  Datum out;
  out.kind = Datum::Kind::record;
  out.record = std::move(record);
  return out;
}

/// A scatter that writes at places known when the model is read.
Evaluated is_constant_scatter(const Scope& scope, Args args) {
  const NodeId node = id_at(args, 0) < 0 ? none_id : scope.graph.producer(id_at(args, 0));
  std::string why;
  return Datum::of(scope.context && node != none_id &&
                   constant_scatter(scope.context->model, scope.context->graph_index, node, why).has_value());
}

/// Some node has one of these operators, named as OperatorIndex takes them.
Evaluated has_op(const Scope& scope, Args args) {
  std::vector<std::string> names;
  for (const Datum& name : args) names.push_back(name.text);
  if (scope.context && scope.context->operators) return Datum::of(scope.context->operators->has(names));
  return Datum::of(OperatorIndex(scope.graph).has(names));
}

/// The graph is what a branch (IF, torch.cond) computes.
Evaluated is_branch(const Scope& scope, Args) {
  if (!scope.context) return Datum::of(false);
  const int graph = scope.context->graph_index;
  return Datum::of(std::any_of(
      scope.context->model.graphs.begin(), scope.context->model.graphs.end(), [&](const Graph& g) {
        return std::any_of(g.order.begin(), g.order.end(), [&](NodeId id) {
          const Node& node = g.node(id);
          const OpSpec* row = row_of(g, node);
          return row && row->chooses &&
                 std::find(node.subgraphs.begin(), node.subgraphs.end(), graph) != node.subgraphs.end();
        });
      }));
}

/// Some operand or result of the root has this type.
Evaluated touches_type(const Scope& scope, Args args) {
  if (scope.node == none_id) return Datum::of(false);
  const Node& node = scope.graph.node(scope.node);
  const auto is_of = [&](ValueId v) { return v >= 0 && name(scope.graph.value(v).dtype) == args[0].text; };
  return Datum::of(std::any_of(node.inputs.begin(), node.inputs.end(), is_of) ||
                   std::any_of(node.outputs.begin(), node.outputs.end(), is_of));
}

/// No element can be positive.
Evaluated non_positive(const Scope& scope, Args args) {
  const auto range = known_range(scope.graph, id_at(args, 0));
  return Datum::of(range && range->high <= 0);
}

/// Every entry of the constant's first axis holds the same numbers.
Evaluated repeats(const Scope& scope, Args args) {
  const Value* v = value_at(scope, args, 0);
  const auto numbers = numbers_of(scope, id_at(args, 0));
  if (!v || !numbers || v->shape.empty() || v->shape[0] <= 0) return Datum::of(false);
  const std::size_t period = numbers->size() / static_cast<std::size_t>(v->shape[0]);
  return Datum::of(
      std::equal(numbers->begin() + static_cast<std::ptrdiff_t>(period), numbers->end(), numbers->begin()));
}

/// Some value of the graph has one of these types.
Evaluated has_type(const Scope& scope, Args args) {
  return Datum::of(std::any_of(args.begin(), args.end(), [&](const Datum& type) {
    return std::any_of(scope.graph.values.begin(), scope.graph.values.end(),
                       [&](const Value& v) { return name(v.dtype) == type.text; });
  }));
}

Evaluated is_main(const Scope& scope, Args) {
  return Datum::of(scope.context != nullptr && scope.context->graph_index == 0);
}

Evaluated first_input(const Scope& scope, Args) {
  return scope.graph.inputs.empty() ? Datum() : Datum::of_value(scope.graph.inputs.front());
}

/// Different names of symbolic dimensions of the inputs.
Evaluated symbols(const Scope& scope, Args) {
  std::set<std::string> names;
  for (const ValueId input : scope.graph.inputs)
    for (const std::string& symbol : scope.graph.value(input).dim_names)
      if (!symbol.empty()) names.insert(symbol);
  return Datum::of(static_cast<double>(names.size()));
}

/// The page's "runtimes", or those of one "case", hold the target.
Evaluated fails(const Scope& scope, Args args) {
  if (!scope.context || !scope.context->rule) return no("no target is known here");
  return Datum::of(scope.context->fails(args.empty() ? std::string_view() : std::string_view(args[0].text)));
}

/// The target's table refuses the operator that makes the value; with a text: in a record that holds it.
Evaluated refused(const Scope& scope, Args args) {
  const NodeId node = id_at(args, 0) < 0 ? none_id : scope.graph.producer(id_at(args, 0));
  if (!scope.context || !scope.context->target || !scope.context->target->has_table() || node == none_id)
    return Datum::of(false);
  const auto records =
      scope.context->target->predict_node(scope.context->model, scope.context->graph_index, node);
  return Datum::of(std::any_of(records.begin(), records.end(), [&](const PredictedRecord& record) {
    return args.size() < 2 || record.text.find(args[1].text) != std::string::npos;
  }));
}

/// The target has a table, and the table has no record about the operator that makes the value.
Evaluated taken(const Scope& scope, Args args) {
  const NodeId node = id_at(args, 0) < 0 ? none_id : scope.graph.producer(id_at(args, 0));
  if (!scope.context || !scope.context->target || !scope.context->target->has_table() || node == none_id)
    return Datum::of(false);
  return Datum::of(
      scope.context->target->predict_node(scope.context->model, scope.context->graph_index, node).empty());
}

/// Some failing message of the log holds the text.
Evaluated logged(const Scope& scope, Args args) {
  if (!scope.context || !scope.context->log_messages) return Datum::of(false);
  return Datum::of(std::any_of(
      scope.context->log_messages->begin(), scope.context->log_messages->end(),
      [&](const std::string& message) { return message.find(args[0].text) != std::string::npos; }));
}

Evaluated needed_version(const Scope& scope, Args args) {
  const Node* node = maker_of(scope, id_at(args, 0));
  if (!node) return no("nothing produces it");
  const Dialect* dialect = scope.graph.dialect;
  if (!dialect || !dialect->minimal_version) return no("operators have no versions here");
  return Datum::of(static_cast<double>(dialect->minimal_version(scope.graph, *node)));
}

constexpr Builtin table[] = {
    {"commonest", 0, 0, "nothing: the graph's most frequent operator, .op and .count", commonest},
    {"constant_scatter", 1, 1, "a value: made by a scatter to places known beforehand", is_constant_scatter},
    {"custom", 1, 1, "a value: the custom name of the operator that makes it", custom},
    {"fails", 0, 1, "nothing, or a case of the page's runtimes", fails},
    {"first_input", 0, 0, "nothing: the graph's first input", first_input},
    {"has_op", 1, 4, "operators: some node of the graph is one of them", has_op},
    {"has_type", 1, 4, "element types: some value of the graph has one of them", has_type},
    {"hazard", 1, 1, "an output: how its copy gets lost (linked, merged padding, merged scale, reduced sum)",
     hazard},
    {"is_branch", 0, 0, "nothing: the graph is a branch of IF or torch.cond", is_branch},
    {"is_main", 0, 0, "nothing: the graph is the model's first one", is_main},
    {"logged", 1, 1, "a text that a failing message of the log holds", logged},
    {"made_from_constants", 1, 1, "a value", is_made_from_constants},
    {"needed_version", 1, 1, "a value: the lowest version of the operator that makes it", needed_version},
    {"nodes", 0, 0, "nothing: the number of operators of the graph", nodes},
    {"non_negative", 1, 1, "a value", non_negative},
    {"only_reader", 1, 1, "a value: the operator that alone reads it", only_reader_of},
    {"non_positive", 1, 1, "a value", non_positive},
    {"reads", 1, 1, "a value: the computed operands of the operator that makes it", reads},
    {"reads_shaped", 1, 1, "a value: the same with shapes", reads_shaped},
    {"refused", 1, 2, "a value, and optionally a text of the target's record about its operator", refused},
    {"repeats", 1, 1, "a constant whose first axis holds the same numbers again and again", repeats},
    {"symbols", 0, 0, "nothing: the number of symbolic dimensions of the inputs", symbols},
    {"taken", 1, 1, "a value: the target has a table, and takes its operator", taken},
    {"touches_type", 1, 1, "an element type that the root reads or writes", touches_type},
};

}  // namespace

std::span<const Builtin> graph_functions() { return table; }

}  // namespace md::builtin
