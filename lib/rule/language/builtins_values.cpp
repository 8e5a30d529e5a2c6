// Functions of the rule language that tell what is known about values.
#include <algorithm>

#include "lib/rule/language/builtin_parts.h"

namespace md::builtin {
namespace {

Evaluated dim(const Scope& scope, Args args) {
  const Value* v = value_at(scope, args, 0);
  if (!v || !is_number(args, 1)) return no(wants_value);
  const auto at = position(args[1].number, v->shape.size());
  if (!at) return Datum();
  if (v->shape[*at] < 0) return no(dynamic);
  return Datum::of(static_cast<double>(v->shape[*at]));
}

Evaluated rank(const Scope& scope, Args args) {
  const Value* v = value_at(scope, args, 0);
  if (!v) return no(wants_value);
  return Datum::of(static_cast<double>(v->rank()));
}

Evaluated shape(const Scope& scope, Args args) {
  const Value* v = value_at(scope, args, 0);
  if (!v) return no(wants_value);
  if (!element_count(v->shape)) return no(dynamic);
  return Datum::of(v->shape);
}

Evaluated size(const Scope& scope, Args args) {
  const Value* v = value_at(scope, args, 0);
  if (!v) return no(wants_value);
  const auto count = element_count(v->shape);
  if (!count) return no(dynamic);
  return Datum::of(static_cast<double>(*count));
}

Evaluated dtype(const Scope& scope, Args args) {
  const Value* v = value_at(scope, args, 0);
  if (!v) return no(wants_value);
  return Datum::of(std::string(name(v->dtype)));
}

Evaluated is_const(const Scope& scope, Args args) {
  return Datum::of(numbers_of(scope, id_at(args, 0)).has_value() ||
                   is_constant(scope.graph, std::max(id_at(args, 0), none_id)));
}
Evaluated is_runtime(const Scope& scope, Args args) {
  const ValueId id = id_at(args, 0);
  return Datum::of(id != none_id && !is_const(scope, args)->flag);
}
Evaluated is_input(const Scope& scope, Args args) {
  const ValueId id = id_at(args, 0);
  return Datum::of(id >= 0 && scope.graph.is_input(id));
}
Evaluated is_output(const Scope& scope, Args args) {
  const ValueId id = id_at(args, 0);
  return Datum::of(id >= 0 && scope.graph.is_output(id));
}
Evaluated is_quantized(const Scope& scope, Args args) {
  const Value* v = value_at(scope, args, 0);
  return Datum::of(v && v->quantization && !v->quantization->scale.empty() && !is_float(v->dtype));
}
Evaluated uses(const Scope& scope, Args args) {
  const ValueId id = id_at(args, 0);
  if (id < 0) return no(wants_value);
  return Datum::of(static_cast<double>(scope.graph.uses(id).size() + (scope.graph.is_output(id) ? 1 : 0)));
}
Evaluated producer(const Scope& scope, Args args) {
  const ValueId id = id_at(args, 0);
  const NodeId node = id < 0 ? none_id : scope.graph.producer(id);
  if (node == none_id) return Datum();
  return Datum::of(scope.graph.node(node).op);
}
Evaluated version(const Scope& scope, Args args) {
  const ValueId id = id_at(args, 0);
  const NodeId node = id < 0 ? none_id : scope.graph.producer(id);
  if (node == none_id) return no("nothing produces it");
  return Datum::of(static_cast<double>(scope.graph.node(node).version));
}

Evaluated is_static_value(const Scope& scope, Args args) {
  const Value* v = value_at(scope, args, 0);
  return Datum::of(v && std::all_of(v->shape.begin(), v->shape.end(), [](std::int64_t d) { return d >= 0; }));
}

/// f32 or f16.
Evaluated is_float_like(const Scope& scope, Args args) {
  const Value* v = value_at(scope, args, 0);
  return Datum::of(v && (v->dtype == DType::f32 || v->dtype == DType::f16));
}
Evaluated is_whole(const Scope& scope, Args args) {
  const Value* v = value_at(scope, args, 0);
  return Datum::of(v && is_integer(v->dtype));
}

/// "1x8x8": a shape for people.
Evaluated sizes(const Scope& scope, Args args) {
  if (const Value* v = value_at(scope, args, 0)) return Datum::of(shape_text(v->shape));
  if (!is_list(args, 0)) return no(wants_value);
  return Datum::of(shape_text(Shape(args[0].list.begin(), args[0].list.end())));
}

/// The one number of a constant of one element; none otherwise.
Evaluated number(const Scope& scope, Args args) {
  const auto numbers = numbers_of(scope, id_at(args, 0));
  return numbers && numbers->size() == 1 ? Datum::of(numbers->front()) : Datum();
}

Evaluated choose(const Scope&, Args args) {
  if (args[0].kind != Datum::Kind::flag) return no("choose() takes a condition first");
  return args[0].flag ? args[1] : args[2];
}

/// Texts and numbers, put together.
Evaluated text(const Scope&, Args args) {
  std::string out;
  for (const Datum& d : args) out += d.kind == Datum::Kind::text ? d.text : text_of(d);
  return Datum::of(std::move(out));
}

/// The texts whose condition (in front of each) holds, joined.
Evaluated which(const Scope&, Args args) {
  std::string out;
  for (std::size_t i = 0; i + 1 < args.size(); i += 2)
    if (args[i].kind == Datum::Kind::flag && args[i].flag)
      out += (out.empty() ? "" : ", ") + args[i + 1].text;
  return Datum::of(std::move(out));
}

Evaluated values(const Scope& scope, Args args) {
  auto numbers = numbers_of(scope, id_at(args, 0));
  if (!numbers) return no("it is not a constant");
  return Datum::of(std::move(*numbers));
}

Evaluated all_equal(const Scope& scope, Args args) {
  const auto numbers = numbers_of(scope, id_at(args, 0));
  if (!is_number(args, 1)) return no(wants_numbers);
  return Datum::of(
      numbers && !numbers->empty() &&
      std::all_of(numbers->begin(), numbers->end(), [&](double v) { return v == args[1].number; }));
}

Evaluated finite(const Scope& scope, Args args) {
  const auto range = id_at(args, 0) < 0 ? std::nullopt : known_range(scope.graph, id_at(args, 0));
  const auto numbers = numbers_of(scope, id_at(args, 0));
  if (numbers)
    return Datum::of(
        std::all_of(numbers->begin(), numbers->end(), [](double v) { return std::isfinite(v); }));
  return Datum::of(range && std::isfinite(range->low) && std::isfinite(range->high));
}

Evaluated in_range(const Scope& scope, Args args) {
  if (!is_number(args, 1) || !is_number(args, 2)) return no(wants_numbers);
  const auto range = id_at(args, 0) < 0 ? std::nullopt : known_range(scope.graph, id_at(args, 0));
  return Datum::of(range && range->low >= args[1].number && range->high <= args[2].number);
}

/// True when every operand given is the same value, or the same datum.
Evaluated same(const Scope&, Args args) {
  return Datum::of(
      std::all_of(args.begin() + 1, args.end(), [&](const Datum& d) { return same_datum(d, args[0]); }));
}

Evaluated is_not(const Scope&, Args args) {
  if (args[0].kind != Datum::Kind::flag) return no("not() takes true or false");
  return Datum::of(!args[0].flag);
}
Evaluated all(const Scope&, Args args) {
  return Datum::of(std::all_of(args.begin(), args.end(),
                               [](const Datum& d) { return d.kind == Datum::Kind::flag && d.flag; }));
}
Evaluated any(const Scope&, Args args) {
  return Datum::of(std::any_of(args.begin(), args.end(),
                               [](const Datum& d) { return d.kind == Datum::Kind::flag && d.flag; }));
}

constexpr Builtin table[] = {
    {"all", 1, 8, "conditions", all},
    {"all_equal", 2, 2, "a constant and a number", all_equal},
    {"any", 1, 8, "conditions", any},
    {"choose", 3, 3, "a condition, what to take when it holds, and when not", choose},
    {"dim", 2, 2, "a value and an axis", dim},
    {"dtype", 1, 1, "a value", dtype},
    {"finite", 1, 1, "a value", finite},
    {"in_range", 3, 3, "a value, the lowest and the highest number", in_range},
    {"is_const", 1, 1, "a value", is_const},
    {"is_float", 1, 1, "a value: f32 or f16", is_float_like},
    {"is_input", 1, 1, "a value", is_input},
    {"is_integer", 1, 1, "a value", is_whole},
    {"is_output", 1, 1, "a value", is_output},
    {"is_quantized", 1, 1, "a value", is_quantized},
    {"is_runtime", 1, 1, "a value", is_runtime},
    {"is_static", 1, 1, "a value: all dimensions are known", is_static_value},
    {"not", 1, 1, "a condition", is_not},
    {"number", 1, 1, "a constant of one element", number},
    {"producer", 1, 1, "a value", producer},
    {"rank", 1, 1, "a value", rank},
    {"same", 2, 8, "values", same},
    {"shape", 1, 1, "a value", shape},
    {"size", 1, 1, "a value", size},
    {"sizes", 1, 1, "a value or a shape: 1x8x8, for sentences", sizes},
    {"text", 1, 8, "texts and numbers, put together", text},
    {"uses", 1, 1, "a value", uses},
    {"values", 1, 1, "a constant", values},
    {"version", 1, 1, "a value: of the operator that makes it", version},
    {"which", 2, 8, "conditions, each with a text behind it: the texts whose condition holds", which},
};

}  // namespace

std::span<const Builtin> value_functions() { return table; }

}  // namespace md::builtin
