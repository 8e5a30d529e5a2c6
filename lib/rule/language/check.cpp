#include "lib/rule/language/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/base/nearest.h"
#include "lib/op/ops.h"
#include "lib/rule/language/builtins.h"
#include "lib/rule/language/named_rewrite.h"

namespace md {
namespace {

class Checker {
 public:
  explicit Checker(const RewriteTree& tree) : tree_(tree) {}

  std::optional<LanguageError> run() {
    pattern();
    if (error_) return error_;  // without a root there is nothing to hold the replacements against
    for (const Replacement& replacement : tree_.replacements) replace(replacement);
    return error_;
  }

 private:
  void complain(int line, std::string what) {
    if (!error_) error_ = LanguageError{line, std::move(what)};
  }

  void pattern() {
    const Statement* root = nullptr;
    for (const Item& item : tree_.match)
      if (item.kind == Item::Kind::statement) root = &item.statement;
    for (const Item& item : tree_.match) {
      if (item.kind != Item::Kind::statement) continue;
      pattern_statement(item.statement);
    }
    root_ = root;
    if (root) names_.insert({"op", "row"});
    for (const Item& item : tree_.match)
      if (item.kind == Item::Kind::statement && &item.statement != root && !reaches(item.statement))
        complain(item.line, fmt::format("%{} is not an operand of the root %{} or of what leads to it",
                                        item.statement.results[0], root->results[0]));
    if (root)
      for (const Statement& form : root->alternatives)
        if (form.op.empty()) complain(form.line, "the root is an operator in every form");
    conditions(tree_.match, values_, names_);
  }

  /// where and let in order: a name is known from its let on.
  void conditions(const std::vector<Item>& items, const std::set<std::string>& values,
                  std::set<std::string>& names) {
    for (const Item& item : items) {
      if (item.kind == Item::Kind::statement) continue;
      expression(item.expression, values, names);
      if (item.kind == Item::Kind::let && !names.insert(item.name).second)
        complain(item.line, fmt::format("{} is bound twice", item.name));
    }
  }

  void pattern_statement(const Statement& s) {
    pattern_form(s);
    for (const Statement& form : s.alternatives)
      if (form.op.empty() && form.expression.kind == Expression::Kind::value)
        values_.insert(form.expression.text);
      else
        pattern_form(form);
    for (const std::string& result : s.results)
      if (!result.empty()) {
        values_.insert(result);
        if (!made_.insert(result).second)
          complain(s.line, fmt::format("%{} is the result of two statements", result));
      }
  }

  void pattern_form(const Statement& s) {
    if (s.op.empty()) return complain(s.line, "a pattern has only statements %y = OP(...)");
    const OpSpec* spec = is_class(s.op) ? nullptr : known_op(s, s.op);
    for (const std::string& op : s.more_ops)
      if (!is_class(op)) known_op(s, op);
    if (!s.more_ops.empty()) spec = nullptr;  // each of them has operands and attributes of its own
    for (const Expression& operand : s.operands) {
      if (operand.kind == Expression::Kind::value)
        values_.insert(operand.text);
      else if (operand.kind != Expression::Kind::any && operand.kind != Expression::Kind::none &&
               operand.kind != Expression::Kind::number)
        complain(operand.line,
                 "an operand in a pattern is a value %x, a number (a constant of that number), none or _");
    }
    if (spec && !s.open && !spec->variadic && s.operands.size() > spec->operands.size())
      complain(s.line,
               fmt::format("{} has {} operands, not {}", s.op, spec->operands.size(), s.operands.size()));
    for (const auto& [key, value] : s.attributes) {
      const AttributeSpec* attribute = known_attribute(s, spec, key);
      if (value.kind == Expression::Kind::name &&
          !(attribute && attribute->enumeration && attribute->enumeration->find(value.text)))
        names_.insert(value.text);
    }
  }

  /// Names that stand for several operators.
  static bool is_class(std::string_view op) {
    return op == "_" || op.ends_with('*') || op == "unary elementwise" || op == "binary elementwise";
  }

  const OpSpec* known_op(const Statement& s, const std::string& op) {
    const OpSpec* spec = find_op(*tree_.dialect, op);
    if (!spec && has_op_table(*tree_.dialect)) {
      std::vector<std::string> known = op_names(*tree_.dialect);
      for (const Builtin& builtin : builtins()) known.emplace_back(builtin.name);
      complain(s.line, fmt::format("unknown operator or function {}{}", op, did_you_mean(op, known)));
    }
    return spec;
  }

  const AttributeSpec* known_attribute(const Statement& s, const OpSpec* spec, const std::string& key) {
    if (!spec) return nullptr;
    const AttributeSpec* attribute = spec->find(key);
    if (attribute) return attribute;
    std::vector<std::string> known;
    for (const AttributeSpec& a : spec->attributes) known.push_back(a.name);
    complain(s.line, fmt::format("{} has no attribute {}{}", s.op, key, did_you_mean(key, known)));
    return nullptr;
  }

  /// True when a result of the statement is an operand of some other statement: every chain ends at the root
  /// then.
  bool reaches(const Statement& s) const {
    const auto is_result = [&](const Expression& e) {
      return e.kind == Expression::Kind::value &&
             std::find(s.results.begin(), s.results.end(), e.text) != s.results.end();
    };
    const auto reads = [&](const Statement& form) {
      return is_result(form.expression) || std::any_of(form.operands.begin(), form.operands.end(), is_result);
    };
    return std::any_of(tree_.match.begin(), tree_.match.end(), [&](const Item& item) {
      if (item.kind != Item::Kind::statement || &item.statement == &s) return false;
      const auto& forms = item.statement.alternatives;
      return reads(item.statement) || std::any_of(forms.begin(), forms.end(), reads);
    });
  }

  void replace(const Replacement& replacement) {
    std::set<std::string> values = values_, names = names_, given;
    if (replacement.call) return named(*replacement.call, values, names);
    if (!root_)
      return complain(
          replacement.line,
          "there is nothing to replace: match { } has no statement; a `fix` may be about the graph");
    for (const Item& item : replacement.items) {
      if (item.kind != Item::Kind::statement) {
        expression(item.expression, values, names);
        if (item.kind == Item::Kind::let) names.insert(item.name);
        continue;
      }
      const Statement& s = item.statement;
      replacement_statement(s, values, names);
      for (const std::string& result : s.results) {
        if (result.empty()) continue;
        const bool is_root =
            std::find(root_->results.begin(), root_->results.end(), result) != root_->results.end();
        if (!is_root && values.contains(result))
          complain(s.line, fmt::format("%{} is bound already; only the root's results are replaced", result));
        if (!given.insert(result).second) complain(s.line, fmt::format("%{} is given twice", result));
        values.insert(result);
      }
    }
    for (const std::string& result : root_->results)
      if (!result.empty() && !given.contains(result))
        complain(replacement.line,
                 fmt::format("the replacement \"{}\" does not give %{}", replacement.title, result));
  }

  void named(const Expression& call, const std::set<std::string>& values,
             const std::set<std::string>& names) {
    const NamedRewrite* rewrite = find_named_rewrite(call.text);
    if (!rewrite) {
      std::vector<std::string> known;
      for (const NamedRewrite& r : named_rewrites()) known.emplace_back(r.name);
      return complain(call.line,
                      fmt::format("unknown rewrite {}{}", call.text, did_you_mean(call.text, known)));
    }
    const int count = static_cast<int>(call.parts.size());
    if (count < rewrite->least || count > rewrite->most)
      complain(call.line, fmt::format("{} takes {}", call.text,
                                      rewrite->arguments.empty() ? "no arguments" : rewrite->arguments));
    if (!is_for(*rewrite))
      complain(call.line, fmt::format("{} is for {}: the pattern ends at another operator, or at none",
                                      call.text, rewrite->root == "*" ? "an operator" : rewrite->root));
    for (const Expression& part : call.parts) expression(part, values, names);
  }

  /// True when every form of the root is what the rewrite works on.
  bool is_for(const NamedRewrite& rewrite) const {
    if (rewrite.root.empty()) return true;
    if (!root_ || rewrite.root == "*") return root_ != nullptr;
    const auto fits = [&](const Statement& form) {
      return form.op == rewrite.root &&
             std::all_of(form.more_ops.begin(), form.more_ops.end(),
                         [&](const std::string& op) { return op == rewrite.root; });
    };
    return fits(*root_) && std::all_of(root_->alternatives.begin(), root_->alternatives.end(), fits);
  }

  void replacement_statement(const Statement& s, const std::set<std::string>& values,
                             const std::set<std::string>& names) {
    if (s.op.empty()) {
      if (s.results.size() != 1) complain(s.line, "an expression gives one value");
      return expression(s.expression, values, names);
    }
    if (!s.alternatives.empty() || !s.more_ops.empty() || s.open || s.open_attributes || s.op == "_")
      return complain(s.line, "alternatives and \"...\" stand only in patterns");
    const OpSpec* spec = s.op == kRootOperator ? nullptr : known_op(s, s.op);
    const int given = static_cast<int>(s.operands.size());
    if (spec &&
        (given < spec->required || (!spec->variadic && given > static_cast<int>(spec->operands.size()))))
      complain(s.line, fmt::format("{} takes {} operands, not {}", s.op, spec->operands.size(), given));
    for (const Expression& operand : s.operands) {
      if (operand.kind == Expression::Kind::none) continue;
      const bool fits = operand.kind == Expression::Kind::value || operand.kind == Expression::Kind::call ||
                        operand.kind == Expression::Kind::name;
      if (!fits)
        complain(operand.line, "an operand in a replacement is a value %x, const(...), splat(...) or none");
      expression(operand, values, names);
    }
    for (const auto& [key, value] : s.attributes) {
      const AttributeSpec* attribute = known_attribute(s, spec, key);
      if (value.kind == Expression::Kind::name && attribute && attribute->enumeration &&
          attribute->enumeration->find(value.text))
        continue;
      expression(value, values, names);
    }
  }

  void expression(const Expression& e, const std::set<std::string>& values,
                  const std::set<std::string>& names) {
    switch (e.kind) {
      case Expression::Kind::value:
        if (!values.contains(e.text))
          complain(e.line,
                   fmt::format("%{} is not bound{}", e.text,
                               did_you_mean(e.text, std::vector<std::string>(values.begin(), values.end()))));
        break;
      case Expression::Kind::name:
        if (!names.contains(e.text))
          complain(e.line,
                   fmt::format("{} is not bound{}", e.text,
                               did_you_mean(e.text, std::vector<std::string>(names.begin(), names.end()))));
        break;
      case Expression::Kind::any:
        complain(e.line, "_ stands only in patterns");
        break;
      case Expression::Kind::call:
        call(e);
        break;
      default:
        break;
    }
    for (const Expression& part : e.parts) expression(part, values, names);
  }

  void call(const Expression& e) {
    const Builtin* builtin = find_builtin(e.text);
    if (!builtin) {
      std::vector<std::string> known;
      for (const Builtin& b : builtins()) known.emplace_back(b.name);
      return complain(e.line, fmt::format("unknown function {}{}", e.text, did_you_mean(e.text, known)));
    }
    const int count = static_cast<int>(e.parts.size());
    if (count < builtin->least || count > builtin->most)
      return complain(e.line, fmt::format("{} takes {}", e.text, builtin->arguments));
    if ((e.text == "const") && e.parts[0].kind == Expression::Kind::text && !dtype_from_name(e.parts[0].text))
      complain(e.line, fmt::format("\"{}\" is no element type", e.parts[0].text));
  }

  const RewriteTree& tree_;
  const Statement* root_ = nullptr;
  std::set<std::string> values_, names_, made_;
  std::optional<LanguageError> error_;
};

}  // namespace

std::optional<LanguageError> check_rewrite(const RewriteTree& tree) { return Checker(tree).run(); }

}  // namespace md
