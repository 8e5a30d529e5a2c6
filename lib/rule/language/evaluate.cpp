// Expressions of the rule language, and the reasons that false conditions give.
#include <fmt/format.h>

#include <cctype>

#include "lib/op/text.h"
#include "lib/rule/language/builtins.h"
#include "lib/rule/language/rewrite.h"

namespace md {
namespace {

Evaluated list_of(const Expression& e, const Scope& scope, const Bindings& bindings) {
  Datum out = Datum::of(std::vector<double>());
  std::optional<Shape> inner;
  for (const Expression& part : e.parts) {
    auto d = evaluate(part, scope, bindings);
    if (!d) return d;
    if (d->kind == Datum::Kind::number || d->kind == Datum::Kind::flag) {
      out.list.push_back(d->kind == Datum::Kind::flag ? (d->flag ? 1 : 0) : d->number);
    } else if (d->kind == Datum::Kind::list) {
      if (inner && *inner != d->list_shape)
        return tl::make_unexpected(std::string("the rows of a list differ in length"));
      inner = d->list_shape;
      out.list.insert(out.list.end(), d->list.begin(), d->list.end());
    } else if (d->kind == Datum::Kind::text) {
      out.texts.push_back(d->text);
    } else {
      return tl::make_unexpected(std::string("a list holds numbers or texts"));
    }
    out.real = out.real || d->real;
  }
  out.list_shape = {static_cast<std::int64_t>(e.parts.size())};
  if (inner) out.list_shape.insert(out.list_shape.end(), inner->begin(), inner->end());
  return out;
}

Evaluated compare(const Expression& e, const Scope& scope, const Bindings& bindings) {
  const auto a = evaluate(e.parts[0], scope, bindings), b = evaluate(e.parts[1], scope, bindings);
  if (!a) return a;
  if (!b) return b;
  if (e.text == "==") return Datum::of(same_datum(*a, *b));
  if (e.text == "!=") return Datum::of(!same_datum(*a, *b));
  if (a->kind != Datum::Kind::number || b->kind != Datum::Kind::number) return Datum::of(false);
  if (e.text == "<") return Datum::of(a->number < b->number);
  if (e.text == "<=") return Datum::of(a->number <= b->number);
  if (e.text == ">") return Datum::of(a->number > b->number);
  return Datum::of(a->number >= b->number);
}

/// The values that an expression speaks of, as "%x is \"encoder/x\" f32[1, 8]".
void describe_values(const Expression& e, const Scope& scope, const Bindings& bindings, std::string& out) {
  if (e.kind == Expression::Kind::value) {
    const auto found = bindings.values.find(e.text);
    if (found == bindings.values.end() || found->second == none_id) return;
    const Value& value = scope.value(found->second);
    const std::string text = fmt::format("%{} is \"{}\" {}", e.text, value.name, print_type(value));
    if (out.find(text) == std::string::npos) out += (out.empty() ? "" : ", ") + text;
  }
  for (const Expression& part : e.parts) describe_values(part, scope, bindings, out);
}

}  // namespace

Evaluated evaluate(const Expression& e, const Scope& scope, const Bindings& bindings) {
  switch (e.kind) {
    case Expression::Kind::number: {
      Datum d = Datum::of(e.number);
      d.real = e.real;
      return d;
    }
    case Expression::Kind::text:
      return Datum::of(e.text);
    case Expression::Kind::flag:
      return Datum::of(e.flag);
    case Expression::Kind::none:
    case Expression::Kind::any:
      return Datum();
    case Expression::Kind::value: {
      const auto found = bindings.values.find(e.text);
      if (found == bindings.values.end()) return tl::make_unexpected("%" + e.text + " is not bound");
      return found->second == none_id ? Datum() : Datum::of_value(found->second);
    }
    case Expression::Kind::name: {
      const auto found = bindings.names.find(e.text);
      if (found == bindings.names.end()) return tl::make_unexpected(e.text + " is not bound");
      if (e.field.empty()) return found->second;
      if (!found->second.record) return tl::make_unexpected(e.text + " has no parts");
      const auto field = found->second.record->find(e.field);
      if (field == found->second.record->end() && e.text == "row") return Datum();  // rows differ in words
      if (field == found->second.record->end())
        return tl::make_unexpected(fmt::format("{} has no part {}", e.text, e.field));
      return field->second;
    }
    case Expression::Kind::list:
      return list_of(e, scope, bindings);
    case Expression::Kind::compare:
      return compare(e, scope, bindings);
    case Expression::Kind::call: {
      const Builtin* builtin = find_builtin(e.text);
      if (!builtin) return tl::make_unexpected("unknown function " + e.text);
      std::vector<Datum> arguments;
      for (const Expression& part : e.parts) {
        auto d = evaluate(part, scope, bindings);
        if (!d) return d;
        arguments.push_back(*std::move(d));
      }
      const int count = static_cast<int>(arguments.size());
      if (count < builtin->least || count > builtin->most)
        return tl::make_unexpected(fmt::format("{} takes {}", e.text, builtin->arguments));
      return builtin->call(scope, arguments);
    }
  }
  return Datum();
}

std::optional<std::string> unmet(const Expression& condition, const Scope& scope, const Bindings& bindings) {
  const auto d = evaluate(condition, scope, bindings);
  if (d && d->kind == Datum::Kind::flag && d->flag) return std::nullopt;
  std::string why = fmt::format("the rewrite needs {}", text_of(condition)), about;
  if (!d) {
    why += ", but " + d.error();
  } else if (condition.kind == Expression::Kind::compare) {
    const auto left = evaluate(condition.parts[0], scope, bindings);
    const bool telling = left && left->kind != Datum::Kind::value && left->kind != Datum::Kind::record;
    if (telling) why += fmt::format(", but {} is {}", text_of(condition.parts[0]), text_of(*left));
  }
  describe_values(condition, scope, bindings, about);
  return about.empty() ? why : why + " (" + about + ")";
}

namespace {

/// What `{inside}` stands for; nullopt when it is no expression, or has no value here.
std::optional<std::string> filling(std::string_view inside, const Scope& scope, const Bindings& bindings) {
  const auto e = parse_expression("", 1, inside);
  if (!e) return std::nullopt;
  const auto d = evaluate(*e, scope, bindings);
  if (!d) return std::nullopt;
  switch (d->kind) {
    case Datum::Kind::value:
      return scope.value(d->value).name;
    case Datum::Kind::text:
      return d->text;
    case Datum::Kind::number:
    case Datum::Kind::list:
    case Datum::Kind::flag:
      return text_of(*d);
    default:
      return std::nullopt;
  }
}

/// Calls `filler` for every {expression} of a text and puts what it gives in its place; nullopt leaves it as
/// it stands.
template <class F>
std::string filled_by(std::string_view text, F&& filler) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return out += text.substr(open);
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    const bool plausible = !inside.empty() &&
                           (std::isalpha(static_cast<unsigned char>(inside[0])) || inside[0] == '%') &&
                           inside.find('\n') == std::string_view::npos;
    std::optional<std::string> filled;
    if (plausible) filled = filler(inside);
    out += filled ? *filled : std::string(text.substr(open, close - open + 1));
    text.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace

std::optional<std::string> broken_expression(std::string_view text) {
  std::optional<std::string> wrong;
  filled_by(text, [&](std::string_view inside) -> std::optional<std::string> {
    const auto e = parse_expression("", 1, inside);
    if (!e && !wrong) wrong = fmt::format("{{{}}} is no expression: {}", inside, e.error().message);
    if (e && e->kind == Expression::Kind::call && !find_builtin(e->text) && !wrong)
      wrong = fmt::format("{{{}}}: unknown function {}", inside, e->text);
    return std::nullopt;
  });
  return wrong;
}

std::string fill_template(std::string_view text, const Scope& scope, const Bindings& bindings) {
  return filled_by(text, [&](std::string_view inside) { return filling(inside, scope, bindings); });
}

std::optional<std::string> fill_sentence(std::string_view text, const Scope& scope,
                                         const Bindings& bindings) {
  bool missing = false;
  std::string filled = filled_by(text, [&](std::string_view inside) {
    auto one = filling(inside, scope, bindings);
    missing = missing || !one;
    return one;
  });
  return missing ? std::nullopt : std::optional(std::move(filled));
}

}  // namespace md
