// Matching a pattern: from the root backwards along its operands, with both orders of commutative operands.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "lib/op/constants.h"
#include "lib/op/ops.h"
#include "lib/op/text.h"
#include "lib/rule/language/named_rewrite.h"
#include "lib/rule/language/rewrite.h"
#include "lib/rule/page/operator_index.h"

namespace md {
namespace {

/// A pattern statement that must fit what makes a value.
struct Goal {
  std::size_t statement = 0;
  ValueId value = none_id;
  NodeId node = none_id;  ///< that makes it; none_id: an input or a constant
};

class Matcher {
 public:
  Matcher(const RewriteTree& tree, const Graph& graph) : tree_(tree), graph_(graph) {}

  std::optional<Bindings> at(std::size_t root, NodeId node) {
    Bindings bindings;
    bindings.names.emplace("op", Datum::of(graph_.node(node).op));
    if (!solve({{root, none_id, node}}, bindings)) return std::nullopt;
    for (const Item& item : tree_.match)
      if (item.kind == Item::Kind::statement) bind_absent(item.statement, bindings);
    return bindings;
  }

 private:
  /// What only an alternative that was not taken names is absent.
  static void bind_absent(const Statement& s, Bindings& bindings) {
    for (const Expression& operand : s.operands)
      if (operand.kind == Expression::Kind::value) bindings.values.emplace(operand.text, none_id);
    for (const auto& [key, pattern] : s.attributes)
      if (pattern.kind == Expression::Kind::name) bindings.names.emplace(pattern.text, Datum());
    for (const Statement& form : s.alternatives) bind_absent(form, bindings);
  }

  /// Depth first; on failure `bindings` may hold rubbish, so callers that try again keep a copy.
  bool solve(std::vector<Goal> goals, Bindings& bindings) {
    if (goals.empty()) return true;
    const Goal goal = goals.back();
    goals.pop_back();
    const Statement& s = tree_.match[goal.statement].statement;
    if (s.alternatives.empty()) return form(s, goal, std::move(goals), bindings);
    const Bindings before = bindings;
    if (form(s, goal, goals, bindings)) return true;
    for (const Statement& other : s.alternatives) {
      bindings = before;
      if (form(other, goal, goals, bindings)) return true;
    }
    return false;
  }

  bool form(const Statement& s, const Goal& goal, std::vector<Goal> goals, Bindings& bindings) {
    if (s.op.empty())  // the value itself, without the operator
      return operand(s.expression, goal.value, goals, bindings) && solve(std::move(goals), bindings);
    if (goal.node == none_id) return false;
    const Node& node = graph_.node(goal.node);
    const auto named = [&](std::string_view op) { return op == "_" || is_root(op, node.op, graph_.dialect); };
    if (!named(s.op) && std::none_of(s.more_ops.begin(), s.more_ops.end(), named)) return false;
    if (!s.custom.empty() && node.custom != s.custom) return false;
    if (!attributes(s, node, bindings) || !results(s, node, bindings)) return false;
    if (std::find(bindings.nodes.begin(), bindings.nodes.end(), goal.node) == bindings.nodes.end())
      bindings.nodes.push_back(goal.node);
    const OpSpec* spec = find_op(*tree_.dialect, node.op);
    const bool swap = spec && spec->commutative && s.operands.size() == 2 && node.inputs.size() == 2;
    const Bindings before = swap ? bindings : Bindings();
    if (operands(s, node, false, goals, bindings)) return true;
    if (!swap) return false;
    bindings = before;
    return operands(s, node, true, goals, bindings);
  }

  bool operands(const Statement& s, const Node& node, bool swapped, std::vector<Goal> goals,
                Bindings& bindings) {
    const bool by_name = std::any_of(s.operand_names.begin(), s.operand_names.end(),
                                     [](const std::string& n) { return !n.empty(); });
    // Operands that the pattern does not have must be absent in the node.
    if (!by_name && !s.open)
      for (std::size_t i = s.operands.size(); i < node.inputs.size(); ++i)
        if (node.inputs[i] != none_id) return false;
    for (std::size_t i = 0; i < s.operands.size(); ++i) {
      std::optional<std::size_t> at = swapped ? 1 - i : i;
      if (!s.operand_names[i].empty()) at = named_input(node, s.operand_names[i]);
      const ValueId actual = at && *at < node.inputs.size() ? node.inputs[*at] : none_id;
      if (!operand(s.operands[i], actual, goals, bindings)) return false;
    }
    return solve(std::move(goals), bindings);
  }

  static std::optional<std::size_t> named_input(const Node& node, const std::string& name) {
    const auto at = std::find(node.input_names.begin(), node.input_names.end(), name);
    if (at == node.input_names.end()) return std::nullopt;
    return static_cast<std::size_t>(at - node.input_names.begin());
  }

  bool operand(const Expression& pattern, ValueId actual, std::vector<Goal>& goals, Bindings& bindings) {
    switch (pattern.kind) {
      case Expression::Kind::any:
        return true;
      case Expression::Kind::none:
        return actual == none_id;
      case Expression::Kind::number: {
        const auto numbers = constant_numbers(graph_, actual);
        return numbers && !numbers->empty() &&
               std::all_of(numbers->begin(), numbers->end(), [&](double v) { return v == pattern.number; });
      }
      case Expression::Kind::value:
        break;
      default:
        return false;
    }
    if (actual == none_id && !pattern.optional) return false;
    const auto [known, is_new] = bindings.values.emplace(pattern.text, actual);
    if (!is_new) return known->second == actual;
    if (actual == none_id) return true;
    for (std::size_t i = 0; i < tree_.match.size(); ++i) {
      const Item& item = tree_.match[i];
      if (item.kind != Item::Kind::statement) continue;
      const auto& made = item.statement.results;
      if (std::find(made.begin(), made.end(), pattern.text) == made.end()) continue;
      goals.push_back({i, actual, graph_.producer(actual)});
    }
    return true;
  }

  bool results(const Statement& s, const Node& node, Bindings& bindings) const {
    for (std::size_t i = 0; i < s.results.size(); ++i) {
      if (s.results[i].empty()) continue;  // "_": may also be missing, as calls of a .pte have no results
      if (i >= node.outputs.size()) return false;
      const auto [known, is_new] = bindings.values.emplace(s.results[i], node.outputs[i]);
      if (!is_new && known->second != node.outputs[i]) return false;
    }
    return true;
  }

  bool attributes(const Statement& s, const Node& node, Bindings& bindings) const {
    const OpSpec* spec = find_op(*tree_.dialect, node.op);
    // What stands for several operators says nothing about the attributes of any.
    const bool several = s.open_attributes || s.op == "_" || !s.more_ops.empty() ||
                         s.op.find_first_of("* ") != std::string::npos;
    for (const auto& [key, pattern] : s.attributes)
      if (!attribute(key, pattern, spec ? spec->find(key) : nullptr, node, bindings)) return false;
    const auto mentioned = [&](std::string_view key) {
      return std::any_of(s.attributes.begin(), s.attributes.end(),
                         [&](const auto& entry) { return entry.first == key; });
    };
    for (const auto& [key, value] : node.attrs) {
      if (several || mentioned(key) || !bindings.unusual.empty()) continue;
      const AttributeSpec* known = spec ? spec->find(key) : nullptr;
      if (known && (known->ignored || as_datum_equal(known->usual, value))) continue;
      if (spec && !known) continue;  // a field newer than our table says nothing that we know of
      bindings.unusual = fmt::format("{} has {} = {}, which this rewrite does not cover", node.op, key,
                                     print_attribute(value));
    }
    return true;
  }

  static bool as_datum_equal(const AttrValue& a, const AttrValue& b) {
    return same_datum(datum_of(a), datum_of(b));
  }

  static Datum datum_of(const AttrValue& value) {
    struct Visitor {
      Datum operator()(std::monostate) const { return Datum(); }
      Datum operator()(bool v) const { return Datum::of(v); }
      Datum operator()(std::int64_t v) const { return Datum::of(static_cast<double>(v)); }
      Datum operator()(double v) const { return real(Datum::of(static_cast<double>(v))); }
      Datum operator()(const std::string& v) const { return Datum::of(v); }
      Datum operator()(const EnumValue& v) const { return Datum::of(v.name); }
      Datum operator()(const std::vector<std::int64_t>& v) const {
        return Datum::of(std::vector<double>(v.begin(), v.end()));
      }
      Datum operator()(const std::vector<double>& v) const { return real(Datum::of(v)); }
      Datum operator()(const std::vector<std::string>& v) const {
        Datum d = Datum::of(std::vector<double>());
        d.texts = v;
        return d;
      }
      Datum operator()(const Blob&) const { return Datum(); }
      static Datum real(Datum d) {
        d.real = true;
        return d;
      }
    };
    return std::visit(Visitor{}, value);
  }

  bool attribute(const std::string& key, const Expression& pattern, const AttributeSpec* spec,
                 const Node& node, Bindings& bindings) const {
    if (pattern.kind == Expression::Kind::any) return true;
    const AttrValue* actual = attribute_or_usual(*tree_.dialect, node, key);
    if (!actual) return pattern.kind == Expression::Kind::none;
    Datum value = datum_of(*actual);
    if (pattern.kind == Expression::Kind::name) {
      if (spec && spec->enumeration && spec->enumeration->find(pattern.text))
        return value.text == pattern.text;
      const auto [known, is_new] = bindings.names.emplace(pattern.text, value);
      return is_new || same_datum(known->second, value);
    }
    const Scope scope{graph_};
    const auto wanted = evaluate(pattern, scope, bindings);
    if (!wanted) return false;
    if (value.kind == Datum::Kind::flag && wanted->kind == Datum::Kind::number)
      value = Datum::of(value.flag ? 1.0 : 0.0);
    return same_datum(*wanted, value);
  }

  const RewriteTree& tree_;
  const Graph& graph_;
};

/// A reason when a value inside the pattern is seen from outside of it.
std::optional<std::string> seen_from_outside(const RewriteTree& tree, std::size_t root, const Graph& graph,
                                             const Bindings& bindings) {
  for (std::size_t i = 0; i < tree.match.size(); ++i) {
    if (i == root || tree.match[i].kind != Item::Kind::statement) continue;
    for (const std::string& name : tree.match[i].statement.results) {
      const auto found = bindings.values.find(name);
      if (found == bindings.values.end()) continue;
      const ValueId id = found->second;
      const NodeId maker = id == none_id ? none_id : graph.producer(id);
      if (std::find(bindings.nodes.begin(), bindings.nodes.end(), maker) == bindings.nodes.end())
        continue;  // an alternative without the operator: the value comes from outside
      if (graph.is_output(id))
        return fmt::format("%{} (\"{}\") is also an output of the graph", name, graph.value(id).name);
      for (const Use& use : graph.uses(id))
        if (std::find(bindings.nodes.begin(), bindings.nodes.end(), use.node) == bindings.nodes.end())
          return fmt::format("%{} (\"{}\") is also read by {} elsewhere", name, graph.value(id).name,
                             graph.node(use.node).op);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Bindings> match_structure(const RewriteTree& tree, std::size_t root, const Graph& graph,
                                        NodeId node) {
  return Matcher(tree, graph).at(root, node);
}

Rewrite::Rewrite(RewriteTree tree, Rows rows) : tree_(std::move(tree)), rows_(std::move(rows)) {
  for (std::size_t i = 0; i < tree_.match.size(); ++i)
    if (tree_.match[i].kind == Item::Kind::statement) root_ = i;
  if (!root_) return;
  const Statement& root = tree_.match[*root_].statement;
  const auto add = [&](const Statement& form) {
    roots_.push_back(form.op == "_" ? "*" : form.op);
    roots_.insert(roots_.end(), form.more_ops.begin(), form.more_ops.end());
  };
  add(root);
  for (const Statement& form : root.alternatives) add(form);
}

std::vector<Rewrite::Site> Rewrite::run(const DetectContext& context) const {
  std::vector<Site> sites;
  if (!root_) {
    if (!context.graph.order.empty()) sites.push_back(examine(context, none_id, {}));
    std::erase_if(sites, [](const Site& site) { return site.outcome == Site::Outcome::nothing; });
    return sites;
  }
  std::optional<OperatorIndex> own;
  const OperatorIndex& operators = context.operators ? *context.operators : own.emplace(context.graph);
  for (const NodeId id : operators.find(roots_))
    if (auto bindings = match_structure(tree_, *root_, context.graph, id))
      sites.push_back(examine(context, id, *std::move(bindings)));
  std::erase_if(sites, [](const Site& site) { return site.outcome == Site::Outcome::nothing; });
  return sites;
}

Rewrite::Site Rewrite::examine(const DetectContext& context, NodeId root, Bindings bindings) const {
  Site site;
  site.root = root;
  site.bindings = std::move(bindings);
  const Scope scope{context.graph, nullptr, none_id, &context, root};
  if (rows_.by == "op" && root != none_id)
    if (const Rows::Row* row = rows_.find(context.graph.node(root).op)) {
      auto record = std::make_shared<std::map<std::string, Datum, std::less<>>>();
      for (const auto& [word, text] : *row) record->emplace(word, Datum::of(text));
      Datum datum;
      datum.kind = Datum::Kind::record;
      datum.record = std::move(record);
      site.bindings.names.insert_or_assign("row", std::move(datum));
    }
  std::optional<std::string> reason =
      site.bindings.unusual.empty() ? std::nullopt : std::optional(site.bindings.unusual);
  for (const Item& item : tree_.match) {
    if (reason || item.kind == Item::Kind::statement) continue;
    if (item.kind == Item::Kind::where) {
      reason = unmet(item.expression, scope, site.bindings);
    } else if (auto datum = evaluate(item.expression, scope, site.bindings)) {
      site.bindings.names.insert_or_assign(item.name, *std::move(datum));
    } else {
      reason = datum.error();
    }
  }
  if (!reason && root_) reason = seen_from_outside(tree_, *root_, context.graph, site.bindings);
  if (reason && tree_.replacements.empty()) {  // what only advises has nothing to decline
    site.outcome = Site::Outcome::nothing;
    return site;
  }
  if (reason) {
    site.outcome = Site::Outcome::unmet;
    site.reason = *reason;
    return site;
  }
  if (tree_.replacements.empty()) {
    site.outcome = Site::Outcome::advises;
    return site;
  }
  bool nothing = true;
  for (const Replacement& replacement : tree_.replacements) {
    if (replacement.call) {
      nothing = !apply_named(context, replacement, site) && nothing;
      continue;
    }
    nothing = false;
    auto patch = build_replacement(tree_, replacement, context, site.bindings);
    if (patch)
      site.fixes.emplace_back(*std::move(patch));
    else if (site.reason.empty())
      site.reason = patch.error();
  }
  site.outcome = nothing                                    ? Site::Outcome::nothing
                 : site.fixes.empty() && site.found.empty() ? Site::Outcome::declines
                                                            : Site::Outcome::fires;
  return site;
}

bool Rewrite::apply_named(const DetectContext& context, const Replacement& replacement, Site& site) const {
  const Scope scope{context.graph, nullptr, none_id, &context, site.root};
  std::vector<Datum> arguments;
  for (const Expression& part : replacement.call->parts) {
    auto datum = evaluate(part, scope, site.bindings);
    if (!datum) {
      if (site.reason.empty()) site.reason = datum.error();
      return true;
    }
    arguments.push_back(*std::move(datum));
  }
  const NamedRewrite* rewrite = find_named_rewrite(replacement.call->text);
  std::vector<DetectResult> results =
      rewrite->apply({context, site.root, site.bindings.nodes, arguments,
                      fill_template(replacement.title, scope, site.bindings)});
  if (results.empty()) return false;
  std::move(results.begin(), results.end(), std::back_inserter(site.found));
  return true;
}

}  // namespace md
