// Building a replacement: statements to new nodes, constants and values of a patch.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/edit/dead.h"
#include "lib/graph/encode.h"
#include "lib/op/dialect.h"
#include "lib/op/infer.h"
#include "lib/op/ops.h"
#include "lib/op/text.h"
#include "lib/rule/language/rewrite.h"

namespace md {
namespace {

using Reason = std::optional<std::string>;

class ReplacementBuilder {
 public:
  ReplacementBuilder(const RewriteTree& tree, const Replacement& replacement, const DetectContext& context,
                     const Bindings& bindings)
      : tree_(tree),
        replacement_(replacement),
        context_(context),
        graph_(context.graph),
        builder_(
            context.graph, context.graph_index,
            fill_template(replacement.title, Scope{context.graph, nullptr, none_id, &context}, bindings)),
        bindings_(bindings) {
    for (const Item& item : tree.match)
      if (item.kind == Item::Kind::statement) root_ = &item.statement;
    root_node_ = bindings.nodes.front();
  }

  tl::expected<Patch, std::string> build() {
    for (const std::string& name : root_->results)
      if (!name.empty()) root_values_.insert(bindings_.values.find(name)->second);
    // Results that the pattern leaves open must not be needed.
    for (const ValueId id : graph_.node(root_node_).outputs)
      if (id != none_id && !root_values_.contains(id) && (graph_.is_output(id) || !graph_.uses(id).empty()))
        return tl::make_unexpected(
            fmt::format("another result of {} (\"{}\") is read", root_->op, graph_.value(id).name));
    builder_.remove(root_node_);
    for (const Item& item : replacement_.items)
      if (Reason reason = apply(item)) return tl::make_unexpected(*reason);
    remove_dead(graph_, builder_.patch());
    return builder_.take();
  }

 private:
  Scope scope() const {
    const ValueId root = root_values_.empty() ? none_id : *root_values_.begin();
    return Scope{graph_, &builder_, root, &context_, root_node_};
  }

  Reason apply(const Item& item) {
    switch (item.kind) {
      case Item::Kind::where:
        return unmet(item.expression, scope(), bindings_);
      case Item::Kind::let: {
        auto datum = evaluate(item.expression, scope(), bindings_);
        if (!datum) return datum.error();
        bindings_.names.insert_or_assign(item.name, *std::move(datum));
        return std::nullopt;
      }
      case Item::Kind::statement:
        return item.statement.op.empty() ? alias(item.statement) : node(item.statement);
    }
    return std::nullopt;
  }

  bool is_root(const std::string& result) const {
    return !result.empty() &&
           std::find(root_->results.begin(), root_->results.end(), result) != root_->results.end();
  }

  std::string hint(const std::string& name) const {
    return graph_.value(graph_.node(root_node_).outputs.front()).name + "/" + name;
  }

  /// %y = splat(...), const(...) or another value.
  Reason alias(const Statement& s) {
    auto datum = evaluate(s.expression, scope(), bindings_);
    if (!datum) return datum.error();
    const std::string& result = s.results[0];
    if (datum->kind == Datum::Kind::constant) {
      if (!is_root(result)) {
        bindings_.values.insert_or_assign(result, add(*datum->constant, result));
        return std::nullopt;
      }
      return constant_root(bindings_.values.find(result)->second, *datum->constant);
    }
    if (datum->kind != Datum::Kind::value) return fmt::format("{} is no value", text_of(s.expression));
    if (!is_root(result)) {
      bindings_.values.insert_or_assign(result, datum->value);
      return std::nullopt;
    }
    return forward(bindings_.values.find(result)->second, datum->value);
  }

  ValueId add(const NewConstant& c, const std::string& name) {
    return builder_.add_constant(hint(name), c.dtype, c.shape, c.numbers, c.quantization);
  }

  /// The replaced value becomes a constant itself; a graph output needs an operator that makes it.
  Reason constant_root(ValueId root, const NewConstant& c) {
    const Value& value = graph_.value(root);
    if (c.dtype != value.dtype || c.shape != value.shape)
      return differs(root, {c.dtype, c.shape, c.quantization});
    if (graph_.is_output(root))
      return fmt::format("\"{}\" is an output of the graph, and an output cannot be a constant", value.name);
    ValueChange change;
    change.value = root;
    change.constant =
        Constant::own(encode(c.dtype, c.shape, c.numbers, c.quantization ? &*c.quantization : nullptr));
    builder_.change(std::move(change));
    return std::nullopt;
  }

  void rewire_uses(ValueId from, ValueId to) {
    for (const Use& use : graph_.uses(from)) builder_.rewire(use.node, use.operand, to);
  }

  /// Every reader of the root reads `other` instead; a graph output keeps its value, as a copy.
  Reason forward(ValueId root, ValueId other) {
    const ValueType from = type_of(builder_.value(other)), to = type_of(graph_.value(root));
    if (from.dtype != to.dtype || from.shape != to.shape || from.quantization != to.quantization)
      return differs(root, from);
    if (!graph_.is_output(root)) return rewire_uses(root, other), std::nullopt;
    if (!tree_.dialect->copy) return fmt::format("\"{}\" is an output of the graph", graph_.value(root).name);
    if (!element_count(to.shape)) return std::string("a dimension is not known before run time");
    tree_.dialect->copy(builder_, other, root, to.shape, hint("shape"));
    return std::nullopt;
  }

  Reason node(const Statement& s) {
    Node made;
    made.op = s.op;
    made.custom = s.custom;
    if (s.op == kRootOperator) {
      made.op = graph_.node(root_node_).op;
      made.custom = graph_.node(root_node_).custom;
      made.attrs = graph_.node(root_node_).attrs;
    }
    made.version = 0;
    made.layer = graph_.node(root_node_).layer;
    for (std::size_t i = 0; i < s.operands.size(); ++i)
      if (Reason reason = operand(s, i, made)) return reason;
    if (s.op == kRootOperator)
      while (!made.inputs.empty() && made.inputs.back() == none_id) made.inputs.pop_back();
    if (Reason reason = attributes(s, made)) return reason;
    if (Reason reason = results(s, made)) return reason;
    builder_.add_node(std::move(made));
    return std::nullopt;
  }

  Reason operand(const Statement& s, std::size_t i, Node& made) {
    auto datum = evaluate(s.operands[i], scope(), bindings_);
    if (!datum) return datum.error();
    ValueId id = none_id;
    if (datum->kind == Datum::Kind::value)
      id = datum->value;
    else if (datum->kind == Datum::Kind::constant)
      id = add(*datum->constant, operand_name(s, i));
    else if (datum->kind != Datum::Kind::none)
      return fmt::format("{} is no value", text_of(s.operands[i]));
    made.inputs.push_back(id);
    if (!s.operand_names[i].empty()) {
      made.input_names.resize(made.inputs.size() - 1);
      made.input_names.push_back(s.operand_names[i]);
    }
    return std::nullopt;
  }

  /// `root` is the operator that was matched as the root.
  const std::string& operator_of(const Statement& s) const {
    return s.op == kRootOperator ? graph_.node(root_node_).op : s.op;
  }

  std::string operand_name(const Statement& s, std::size_t i) const {
    const OpSpec* spec = find_op(*tree_.dialect, operator_of(s));
    return spec && i < spec->operands.size() ? spec->operands[i] : "const";
  }

  Reason attributes(const Statement& s, Node& made) {
    const OpSpec* spec = find_op(*tree_.dialect, operator_of(s));
    for (const auto& [key, expression] : s.attributes) {
      const AttributeSpec* known = spec ? spec->find(key) : nullptr;
      if (known && known->enumeration && expression.kind == Expression::Kind::name)
        if (const auto e = known->enumeration->find(expression.text)) {
          made.attrs.set(key, *e);
          continue;
        }
      auto datum = evaluate(expression, scope(), bindings_);
      if (!datum) return datum.error();
      auto value = attribute_of(*datum, known);
      if (!value) return fmt::format("{} is no value for {}", text_of(expression), key);
      made.attrs.set(key, *std::move(value));
    }
    return std::nullopt;
  }

  static std::optional<AttrValue> attribute_of(const Datum& datum, const AttributeSpec* known) {
    const auto whole = [](double v) { return static_cast<std::int64_t>(v); };
    switch (datum.kind) {
      case Datum::Kind::flag:
        return datum.flag;
      case Datum::Kind::none:
        return std::monostate();
      case Datum::Kind::number:
        if (known && std::holds_alternative<bool>(known->schema_default)) return datum.number != 0;
        if (known ? std::holds_alternative<double>(known->schema_default) : datum.real) return datum.number;
        return whole(datum.number);
      case Datum::Kind::text:
        if (known && known->enumeration) {
          const auto e = known->enumeration->find(datum.text);
          return e ? std::optional<AttrValue>(*e) : std::nullopt;
        }
        return datum.text;
      case Datum::Kind::list: {
        if (!datum.texts.empty()) return datum.texts;
        if (known ? std::holds_alternative<std::vector<double>>(known->schema_default) : datum.real)
          return datum.list;
        std::vector<std::int64_t> integers;
        for (const double v : datum.list) integers.push_back(whole(v));
        return integers;
      }
      default:
        return std::nullopt;
    }
  }

  /// Types of the results: those of the root where it is one, else what follows from the operands.
  Reason results(const Statement& s, Node& made) {
    std::vector<const Value*> operands;
    for (const ValueId id : made.inputs) operands.push_back(id == none_id ? nullptr : &builder_.value(id));
    const auto types = infer_types(*tree_.dialect, made, operands, s.results.size());
    const bool all_root = std::all_of(s.results.begin(), s.results.end(),
                                      [&](const std::string& r) { return r.empty() || is_root(r); });
    if (!types && !(all_root && find_op(*tree_.dialect, operator_of(s)) == nullptr))
      return fmt::format("{}: {}", made.op, types.error());
    std::vector<ValueType> given;
    for (std::size_t i = 0; i < s.results.size(); ++i) {
      const std::string& result = s.results[i];
      if (is_root(result)) {
        const ValueId root = bindings_.values.find(result)->second;
        const Value& value = graph_.value(root);
        if (types && ((*types)[i].dtype != value.dtype || (*types)[i].shape != value.shape))
          return differs(root, (*types)[i]);
        made.outputs.push_back(root);
        given.push_back(type_of(value));
      } else {
        const ValueType type = types ? (*types)[i] : ValueType();
        const ValueId id = builder_.add_value(hint(result.empty() ? "unused" : result), type.dtype,
                                              type.shape, type.quantization);
        if (!result.empty()) bindings_.values.insert_or_assign(result, id);
        made.outputs.push_back(id);
        given.push_back(type);
      }
    }
    // The operand pointers may have moved with the values that were added.
    for (std::size_t i = 0; i < operands.size(); ++i)
      operands[i] = made.inputs[i] == none_id ? nullptr : &builder_.value(made.inputs[i]);
    if (tree_.dialect->complete_attributes) tree_.dialect->complete_attributes(made, operands, given);
    made.attrs = with_defaults(*tree_.dialect, made);
    return std::nullopt;
  }

  std::string differs(ValueId root, const ValueType& type) const {
    Value given;
    given.dtype = type.dtype, given.shape = type.shape, given.quantization = type.quantization;
    return fmt::format("the replacement \"{}\" gives {}, but \"{}\" is {}", replacement_.title,
                       print_type(given), graph_.value(root).name, print_type(graph_.value(root)));
  }

  const RewriteTree& tree_;
  const Replacement& replacement_;
  const DetectContext& context_;
  const Graph& graph_;
  PatchBuilder builder_;
  Bindings bindings_;
  const Statement* root_ = nullptr;
  NodeId root_node_ = none_id;
  std::set<ValueId> root_values_;
};

}  // namespace

tl::expected<Patch, std::string> build_replacement(const RewriteTree& tree, const Replacement& replacement,
                                                   const DetectContext& context, const Bindings& bindings) {
  return ReplacementBuilder(tree, replacement, context, bindings).build();
}

}  // namespace md
