// The rule language as a tree: what a ```rewrite block says. The grammar is closed (see rules/README.md).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/graph/graph.h"
#include "lib/rule/language/rows.h"

namespace md {

struct Expression {
  enum class Kind {
    number,  ///< 1, 2.5, -inf
    text,    ///< "i32"
    flag,    ///< true, false
    none,    ///< none
    any,     ///< _ (patterns only)
    value,   ///< %x
    name,    ///< a let or an attribute that the pattern captured; g.begin has text "g" and field "begin"
    list,    ///< [a, b]
    call,    ///< dim(%x, -1)
    compare  ///< a == b: text is the operator, two parts
  } kind = Kind::none;
  std::string text, field;
  double number = 0;
  bool real = false;      ///< the number was written with a point
  bool optional = false;  ///< %x? (operands of patterns only): may be absent
  bool flag = false;
  std::vector<Expression> parts;
  int line = 0;
};

/// The expression as its author could have written it, for reasons and errors.
std::string text_of(const Expression& expression);

/// %y = OP(...) { ... }, or %y = expression (op is empty then).
struct Statement {
  std::vector<std::string> results;  ///< names without '%'
  /// In a pattern also "_" (any operator) and what is_root (operator_index.h) takes in quotes.
  std::string op, custom;
  std::vector<std::string> more_ops;  ///< patterns: A | B | C(...)
  bool open = false;                  ///< patterns: OP(%x, ...), any further operands
  bool open_attributes = false;       ///< patterns: { ... }, whatever the other attributes are
  /// Patterns: `or` forms, tried behind this one. One without an operator is a value that stands in its
  /// place.
  std::vector<Statement> alternatives;
  std::vector<std::string> operand_names;  ///< parallel to operands, empty where positional
  std::vector<Expression> operands;
  std::vector<std::pair<std::string, Expression>> attributes;
  Expression expression;
  int line = 0;
};

/// In a replacement: the operator that the pattern's root is, with its attributes.
inline constexpr std::string_view kRootOperator = "root";

/// One line of a match or replace body, in order.
struct Item {
  enum class Kind { statement, where, let } kind = Kind::statement;
  Statement statement;
  std::string name;       ///< let
  Expression expression;  ///< where, let
  int line = 0;
};

struct Replacement {
  std::string title;  ///< with {expressions} of the match; empty for a `fix` that has its own
  std::vector<Item> items;
  /// fix NAME(arguments): a rewrite of the library (named_rewrite.h) instead of `items`.
  std::optional<Expression> call;
  int line = 0;
};

struct RewriteTree {
  const Dialect* dialect = nullptr;
  std::vector<Item> match;                ///< without a statement: about the graph as a whole
  std::vector<Replacement> replacements;  ///< none: the page only advises
  int line = 0;
};

/// Parses and checks a block: unknown operators, attributes, functions and types, unbound values, statements
/// that the root does not reach, results that the replacement does not give. Errors are path:line.
/// `rows` are the page's: `row(...)` in a pattern is any operator that has one.
Result<RewriteTree> parse_rewrite(const std::string& path, int first_line, std::string_view text,
                                  const Dialect& dialect, const Rows* rows = nullptr);
/// Parses one expression (the templates of "At the source"). Nothing is checked but the grammar.
Result<Expression> parse_expression(const std::string& path, int line, std::string_view text);

}  // namespace md
