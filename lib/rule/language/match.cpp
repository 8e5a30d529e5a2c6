// Matching a pattern: from the root backwards along its operands, with both orders of commutative operands.
#include <fmt/format.h>

#include <algorithm>

#include "lib/op/constants.h"
#include "lib/op/ops.h"
#include "lib/op/text.h"
#include "lib/rule/language/rewrite.h"
#include "lib/rule/page/operator_index.h"

namespace md {
namespace {

/// A pattern statement that must fit a node.
struct Goal {
  std::size_t statement = 0;
  NodeId node = none_id;
};

class Matcher {
 public:
  Matcher(const RewriteTree& tree, const Graph& graph) : tree_(tree), graph_(graph) {}

  std::optional<Bindings> at(std::size_t root, NodeId node) {
    Bindings bindings;
    if (!solve({{root, node}}, bindings)) return std::nullopt;
    return bindings;
  }

 private:
  /// Depth first; on failure `bindings` may hold rubbish, so callers that try again keep a copy.
  bool solve(std::vector<Goal> goals, Bindings& bindings) {
    if (goals.empty()) return true;
    const Goal goal = goals.back();
    goals.pop_back();
    const Statement& s = tree_.match[goal.statement].statement;
    const Node& node = graph_.node(goal.node);
    if (node.op != s.op || (!s.custom.empty() && node.custom != s.custom)) return false;
    if (!attributes(s, node, bindings) || !results(s, node, bindings)) return false;
    if (std::find(bindings.nodes.begin(), bindings.nodes.end(), goal.node) == bindings.nodes.end())
      bindings.nodes.push_back(goal.node);
    const OpSpec* spec = find_op(tree_.format, node.op);
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
    if (!by_name)
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
    if (actual == none_id) return false;
    const auto [known, is_new] = bindings.values.emplace(pattern.text, actual);
    if (!is_new) return known->second == actual;
    for (std::size_t i = 0; i < tree_.match.size(); ++i) {
      const Item& item = tree_.match[i];
      if (item.kind != Item::Kind::statement) continue;
      const auto& made = item.statement.results;
      if (std::find(made.begin(), made.end(), pattern.text) == made.end()) continue;
      const NodeId producer = graph_.producer(actual);
      if (producer == none_id) return false;
      goals.push_back({i, producer});
    }
    return true;
  }

  bool results(const Statement& s, const Node& node, Bindings& bindings) const {
    if (s.results.size() > node.outputs.size()) return false;
    for (std::size_t i = 0; i < s.results.size(); ++i) {
      if (s.results[i].empty()) continue;
      const auto [known, is_new] = bindings.values.emplace(s.results[i], node.outputs[i]);
      if (!is_new && known->second != node.outputs[i]) return false;
    }
    return true;
  }

  bool attributes(const Statement& s, const Node& node, Bindings& bindings) const {
    const OpSpec* spec = find_op(tree_.format, node.op);
    for (const auto& [key, pattern] : s.attributes)
      if (!attribute(key, pattern, spec ? spec->find(key) : nullptr, node, bindings)) return false;
    const auto mentioned = [&](std::string_view key) {
      return std::any_of(s.attributes.begin(), s.attributes.end(),
                         [&](const auto& entry) { return entry.first == key; });
    };
    for (const auto& [key, value] : node.attrs) {
      if (mentioned(key) || !bindings.unusual.empty()) continue;
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
    const AttrValue* actual = attribute_or_usual(tree_.format, node, key);
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

Rewrite::Rewrite(RewriteTree tree) : tree_(std::move(tree)) {
  for (std::size_t i = 0; i < tree_.match.size(); ++i)
    if (tree_.match[i].kind == Item::Kind::statement) root_ = i;
}

std::vector<Rewrite::Site> Rewrite::run(const DetectContext& context) const {
  std::vector<Site> sites;
  const std::string& op = tree_.match[root_].statement.op;
  std::optional<OperatorIndex> own;
  const OperatorIndex& operators = context.operators ? *context.operators : own.emplace(context.graph);
  for (const NodeId id : operators.find(op)) {
    auto bindings = match_structure(tree_, root_, context.graph, id);
    if (!bindings) continue;
    Site site;
    site.root = id;
    site.bindings = *std::move(bindings);
    const Scope scope{context.graph};
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
    if (!reason) reason = seen_from_outside(tree_, root_, context.graph, site.bindings);
    if (reason) {
      site.outcome = Site::Outcome::unmet;
      site.reason = *reason;
    } else {
      for (const Replacement& replacement : tree_.replacements) {
        auto patch = build_replacement(tree_, replacement, context, site.bindings);
        if (patch)
          site.fixes.emplace_back(*std::move(patch));
        else if (site.reason.empty())
          site.reason = patch.error();
      }
      site.outcome = site.fixes.empty() ? Site::Outcome::declines : Site::Outcome::fires;
    }
    sites.push_back(std::move(site));
  }
  return sites;
}

}  // namespace md
