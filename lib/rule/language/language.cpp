// The grammar of the rule language.
#include "lib/rule/language/language.h"

#include <fmt/format.h>

#include <cmath>

#include "lib/op/lexer.h"
#include "lib/rule/language/builtins.h"
#include "lib/rule/language/check.h"

namespace md {
namespace {

using Kind = Token::Kind;

class RewriteParser {
 public:
  RewriteParser(const std::string& path, int first_line, std::string_view text, const Rows* rows = nullptr)
      : lexer_(path, first_line, text), rows_(rows) {}

  Result<RewriteTree> rewrite(const Dialect& dialect, int first_line) {
    RewriteTree tree;
    tree.dialect = &dialect;
    tree.line = first_line;
    if (!lexer_.accept_name("match"))
      lexer_.fail(fmt::format("expected \"match {{\", not {}", lexer_.seen()));
    body(tree.match);
    while (!lexer_.failed() && lexer_.peek().kind != Kind::end) {
      Replacement replacement;
      replacement.line = lexer_.peek().line;
      if (lexer_.accept_name("fix")) {
        if (lexer_.peek().kind == Kind::string) replacement.title = lexer_.take().text;
        replacement.call = expression();
        if (!lexer_.failed() && replacement.call->kind != Expression::Kind::call)
          lexer_.fail("expected a rewrite NAME(arguments) behind fix", replacement.line);
        tree.replacements.push_back(std::move(replacement));
        continue;
      }
      if (!lexer_.accept_name("replace"))
        lexer_.fail(fmt::format("expected \"replace\" or \"fix\", not {}", lexer_.seen()));
      else if (lexer_.peek().kind != Kind::string)
        lexer_.fail(fmt::format("expected the replacement's title in quotes, not {}", lexer_.seen()));
      else
        replacement.title = lexer_.take().text;
      body(replacement.items);
      tree.replacements.push_back(std::move(replacement));
    }
    if (lexer_.failed()) return lexer_.error();
    return tree;
  }

  Result<Expression> lone_expression() {
    Expression out = expression();
    if (!lexer_.failed() && lexer_.peek().kind != Kind::end)
      lexer_.fail(fmt::format("unexpected {}", lexer_.seen()));
    if (lexer_.failed()) return lexer_.error();
    return out;
  }

 private:
  void body(std::vector<Item>& items) {
    if (lexer_.failed() || !lexer_.expect("{")) return;
    while (!lexer_.failed() && !lexer_.accept("}")) items.push_back(item());
  }

  Item item() {
    Item out;
    out.line = lexer_.peek().line;
    if (lexer_.accept_name("where")) {
      out.kind = Item::Kind::where;
      out.expression = expression();
    } else if (lexer_.accept_name("let")) {
      out.kind = Item::Kind::let;
      if (lexer_.peek().kind != Kind::name)
        lexer_.fail(fmt::format("expected a name behind let, not {}", lexer_.seen()));
      out.name = lexer_.take().text;
      if (lexer_.expect("=")) out.expression = expression();
    } else {
      out.statement = statement();
    }
    return out;
  }

  Statement statement() {
    Statement out;
    out.line = lexer_.peek().line;
    do {
      if (lexer_.accept("_")) {
        out.results.emplace_back();
        continue;
      }
      if (lexer_.peek().kind != Kind::value) {
        lexer_.fail(fmt::format("expected a statement (%y = ...), where or let, not {}", lexer_.seen()));
        return out;
      }
      out.results.push_back(lexer_.take().text);
    } while (lexer_.accept(","));
    if (!lexer_.expect("=")) return out;
    form(out);
    while (!lexer_.failed() && lexer_.accept_name("or")) {
      Statement& other = out.alternatives.emplace_back();
      other.results = out.results;
      other.line = lexer_.peek().line;
      form(other);
    }
    return out;
  }

  void form(Statement& out) {
    const Token first = lexer_.peek();
    const bool is_op = (first.kind == Kind::name && !find_builtin(first.text) && !first.is_name("none")) ||
                       first.kind == Kind::string || first.is("_");
    if (is_op)
      operation(out);
    else
      out.expression = expression();
  }

  std::string operator_name() {
    std::string name = lexer_.take().text;
    while (lexer_.peek().is(".") || lexer_.peek().is("::")) {
      name += lexer_.take().text;
      name += lexer_.take().text;
    }
    return name;
  }

  void operation(Statement& out) {
    out.op = operator_name();
    if (rows_ && out.op == "row") {
      const std::vector<std::string> known = rows_->operators();
      if (known.empty())
        return void(
            lexer_.fail("row(...) is any operator that has a row: the page has no \"rows\" by \"op\""));
      out.op = known.front();
      out.more_ops.assign(known.begin() + 1, known.end());
    }
    while (!lexer_.failed() && lexer_.accept("|")) {
      if (lexer_.peek().kind != Kind::name && lexer_.peek().kind != Kind::string)
        return void(lexer_.fail(fmt::format("expected an operator behind \"|\", not {}", lexer_.seen())));
      out.more_ops.push_back(operator_name());
    }
    if (lexer_.peek().kind == Kind::string) out.custom = lexer_.take().text;
    if (!lexer_.expect("(")) return;
    while (!lexer_.failed() && !lexer_.accept(")")) {
      if (!out.operands.empty() && !lexer_.expect(",")) return;
      if (lexer_.accept("...")) {
        out.open = true;
        lexer_.expect(")");
        break;
      }
      Expression operand = expression();
      operand.optional = operand.kind == Expression::Kind::value && lexer_.accept("?");
      std::string name;
      if (operand.kind == Expression::Kind::name && operand.field.empty() && lexer_.accept("=")) {
        name = operand.text;
        operand = expression();
      }
      if (!name.empty()) operand.optional = operand.kind == Expression::Kind::value && lexer_.accept("?");
      out.operand_names.push_back(std::move(name));
      out.operands.push_back(std::move(operand));
    }
    if (lexer_.accept("{"))
      while (!lexer_.failed() && !lexer_.accept("}")) {
        if (lexer_.accept("...")) {
          out.open_attributes = true;
          lexer_.expect("}");
          break;
        }
        if (lexer_.peek().kind != Kind::name)
          return void(lexer_.fail(fmt::format("expected an attribute's name, not {}", lexer_.seen())));
        std::string name = lexer_.take().text;
        if (!lexer_.expect("=")) return;
        out.attributes.emplace_back(std::move(name), expression());
        if (!lexer_.peek().is("}")) lexer_.expect(",");
      }
  }

  Expression expression() {
    Expression left = primary();
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"})
      if (!lexer_.failed() && lexer_.peek().is(op)) {
        Expression out;
        out.kind = Expression::Kind::compare;
        out.line = lexer_.peek().line;
        out.text = lexer_.take().text;
        out.parts.push_back(std::move(left));
        out.parts.push_back(primary());
        return out;
      }
    return left;
  }

  Expression primary() {
    if (depth_ > 64) return lexer_.fail("this expression is nested too deeply"), Expression();
    ++depth_;
    Expression out = unguarded_primary();
    --depth_;
    return out;
  }

  Expression unguarded_primary() {
    Expression out;
    const Token token = lexer_.peek();
    out.line = token.line;
    if (token.is("(")) {
      lexer_.take();
      out = expression();
      lexer_.expect(")");
      return out;
    }
    if (token.is("[")) {
      lexer_.take();
      out.kind = Expression::Kind::list;
      arguments(out, "]");
      return out;
    }
    if (token.is("_"))
      out.kind = Expression::Kind::any;
    else if (token.kind == Kind::value)
      out.kind = Expression::Kind::value, out.text = token.text;
    else if (token.kind == Kind::string)
      out.kind = Expression::Kind::text, out.text = token.text;
    else if (token.kind == Kind::integer || token.kind == Kind::real)
      out = number(token.value, token.kind == Kind::real, token.line);
    else if (token.is_name("inf"))
      out = number(HUGE_VAL, true, token.line);
    else if (token.is_name("true") || token.is_name("false"))
      out.kind = Expression::Kind::flag, out.flag = token.text == "true";
    else if (token.is_name("none"))
      out.kind = Expression::Kind::none;
    else if (token.kind == Kind::name)
      return name();
    else
      return lexer_.fail(
                 fmt::format("expected a value, a number, a text, a name or a call, not {}", lexer_.seen())),
             out;
    lexer_.take();
    return out;
  }

  static Expression number(double value, bool real, int line) {
    Expression out;
    out.kind = Expression::Kind::number;
    out.number = value;
    out.real = real;
    out.line = line;
    return out;
  }

  Expression name() {
    Expression out;
    out.line = lexer_.peek().line;
    out.text = lexer_.take().text;
    if (lexer_.accept("(")) {
      out.kind = Expression::Kind::call;
      arguments(out, ")");
      return out;
    }
    out.kind = Expression::Kind::name;
    if (lexer_.accept(".")) out.field = lexer_.take().text;
    return out;
  }

  void arguments(Expression& out, std::string_view close) {
    while (!lexer_.failed() && !lexer_.accept(close)) {
      if (!out.parts.empty() && !lexer_.expect(",")) return;
      out.parts.push_back(expression());
    }
  }

  Lexer lexer_;
  const Rows* rows_;
  int depth_ = 0;
};

std::string join(const std::vector<Expression>& parts) {
  std::string out;
  for (const Expression& part : parts) out += (out.empty() ? "" : ", ") + text_of(part);
  return out;
}

}  // namespace

std::string text_of(const Expression& e) {
  switch (e.kind) {
    case Expression::Kind::number:
      return e.real ? number_text(e.number) : fmt::format("{:.0f}", e.number);
    case Expression::Kind::text:
      return quoted(e.text);
    case Expression::Kind::flag:
      return e.flag ? "true" : "false";
    case Expression::Kind::none:
      return "none";
    case Expression::Kind::any:
      return "_";
    case Expression::Kind::value:
      return "%" + e.text;
    case Expression::Kind::name:
      return e.field.empty() ? e.text : e.text + "." + e.field;
    case Expression::Kind::list:
      return "[" + join(e.parts) + "]";
    case Expression::Kind::call:
      return e.text + "(" + join(e.parts) + ")";
    case Expression::Kind::compare:
      return text_of(e.parts[0]) + " " + e.text + " " + text_of(e.parts[1]);
  }
  return "";
}

Result<RewriteTree> parse_rewrite(const std::string& path, int first_line, std::string_view text,
                                  const Dialect& dialect, const Rows* rows) {
  auto tree = RewriteParser(path, first_line, text, rows).rewrite(dialect, first_line);
  if (!tree) return tree;
  if (auto error = check_rewrite(*tree))
    return input_error(fmt::format("{}:{}: {}", path, error->line, error->what));
  return tree;
}

Result<Expression> parse_expression(const std::string& path, int line, std::string_view text) {
  return RewriteParser(path, line, text).lone_expression();
}

}  // namespace md
