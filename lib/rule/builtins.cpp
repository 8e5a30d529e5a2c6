#include "lib/rule/builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "lib/graph/constants.h"
#include "lib/graph/encode.h"
#include "lib/graph/infer.h"
#include "lib/rule/index_pattern.h"

namespace md {
namespace {

using Args = std::span<const Datum>;

tl::unexpected<std::string> no(std::string why) { return tl::make_unexpected(std::move(why)); }

// --- arguments ---------------------------------------------------------------------------------------------------------

const Value* value_at(const Scope& scope, Args args, std::size_t i) {
  if (args[i].kind != Datum::Kind::value || args[i].value == none_id) return nullptr;
  return &scope.value(args[i].value);
}
ValueId id_at(Args args, std::size_t i) { return args[i].kind == Datum::Kind::value ? args[i].value : none_id; }

bool is_list(Args args, std::size_t i) { return args[i].kind == Datum::Kind::list; }
bool is_number(Args args, std::size_t i) { return args[i].kind == Datum::Kind::number; }

constexpr const char* wants_value = "an operand is absent, or no value";
constexpr const char* wants_numbers = "expected numbers";
constexpr const char* dynamic = "a dimension is not known before run time";

std::optional<std::size_t> position(double index, std::size_t size) {
  if (index < 0) index += static_cast<double>(size);
  if (index < 0 || index >= static_cast<double>(size) || index != std::floor(index)) return std::nullopt;
  return static_cast<std::size_t>(index);
}

std::optional<std::vector<double>> numbers_of(const Scope& scope, ValueId id) {
  if (id == none_id) return std::nullopt;
  if (is_new_value(id)) return decode(scope.value(id), true);
  return constant_numbers(scope.graph, id);
}

// --- values --------------------------------------------------------------------------------------------------------------

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

Evaluated is_const(const Scope& scope, Args args) { return Datum::of(numbers_of(scope, id_at(args, 0)).has_value() || is_constant(scope.graph, std::max(id_at(args, 0), none_id))); }
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

Evaluated values(const Scope& scope, Args args) {
  auto numbers = numbers_of(scope, id_at(args, 0));
  if (!numbers) return no("it is not a constant");
  return Datum::of(std::move(*numbers));
}

Evaluated all_equal(const Scope& scope, Args args) {
  const auto numbers = numbers_of(scope, id_at(args, 0));
  if (!is_number(args, 1)) return no(wants_numbers);
  return Datum::of(numbers && !numbers->empty() && std::all_of(numbers->begin(), numbers->end(), [&](double v) { return v == args[1].number; }));
}

Evaluated finite(const Scope& scope, Args args) {
  const auto range = id_at(args, 0) < 0 ? std::nullopt : known_range(scope.graph, id_at(args, 0));
  const auto numbers = numbers_of(scope, id_at(args, 0));
  if (numbers) return Datum::of(std::all_of(numbers->begin(), numbers->end(), [](double v) { return std::isfinite(v); }));
  return Datum::of(range && std::isfinite(range->low) && std::isfinite(range->high));
}

Evaluated in_range(const Scope& scope, Args args) {
  if (!is_number(args, 1) || !is_number(args, 2)) return no(wants_numbers);
  const auto range = id_at(args, 0) < 0 ? std::nullopt : known_range(scope.graph, id_at(args, 0));
  return Datum::of(range && range->low >= args[1].number && range->high <= args[2].number);
}

/// True when every operand given is the same value, or the same datum.
Evaluated same(const Scope&, Args args) {
  return Datum::of(std::all_of(args.begin() + 1, args.end(), [&](const Datum& d) { return same_datum(d, args[0]); }));
}

Evaluated is_not(const Scope&, Args args) {
  if (args[0].kind != Datum::Kind::flag) return no("not() takes true or false");
  return Datum::of(!args[0].flag);
}
Evaluated any(const Scope&, Args args) {
  return Datum::of(std::any_of(args.begin(), args.end(), [](const Datum& d) { return d.kind == Datum::Kind::flag && d.flag; }));
}

// --- lists ---------------------------------------------------------------------------------------------------------------

Evaluated count(const Scope&, Args args) {
  if (!is_list(args, 0)) return no("expected a list");
  return Datum::of(static_cast<double>(args[0].list.size()));
}

Evaluated item(const Scope&, Args args) {
  if (!is_list(args, 0) || !is_number(args, 1)) return no(wants_numbers);
  const auto at = position(args[1].number, args[0].list.size());
  if (!at) return Datum();
  return Datum::of(args[0].list[*at]);
}

/// Elements from first up to (not with) last; negative counts from the end.
Evaluated part(const Scope&, Args args) {
  if (!is_list(args, 0) || !is_number(args, 1) || (args.size() == 3 && !is_number(args, 2))) return no(wants_numbers);
  const auto size = static_cast<double>(args[0].list.size());
  const auto bound = [&](double v) { return static_cast<std::ptrdiff_t>(std::clamp(v < 0 ? v + size : v, 0.0, size)); };
  const auto first = bound(args[1].number), last = args.size() == 3 ? bound(args[2].number) : static_cast<std::ptrdiff_t>(size);
  if (first >= last) return Datum::of(std::vector<double>());
  return Datum::of(std::vector<double>(args[0].list.begin() + first, args[0].list.begin() + last));
}

Evaluated join(const Scope&, Args args) {
  std::vector<double> out;
  for (const Datum& d : args) {
    if (d.kind == Datum::Kind::number) out.push_back(d.number);
    else if (d.kind == Datum::Kind::list) out.insert(out.end(), d.list.begin(), d.list.end());
    else return no(wants_numbers);
  }
  return Datum::of(std::move(out));
}

Evaluated product(const Scope&, Args args) {
  double out = 1;
  for (const Datum& d : args) {
    if (d.kind == Datum::Kind::number) out *= d.number;
    else if (d.kind == Datum::Kind::list)
      for (const double v : d.list) out *= v;
    else return no(wants_numbers);
  }
  return Datum::of(out);
}

/// Element by element; `f` gives nullopt where it is not defined.
template <class F>
Evaluated pairwise(Args args, F&& f) {
  const bool lists = is_list(args, 0) && is_list(args, 1);
  if (!lists && !(is_number(args, 0) && is_number(args, 1))) return no(wants_numbers);
  if (!lists) {
    const std::optional<double> v = f(args[0].number, args[1].number);
    return v ? Evaluated(Datum::of(*v)) : no("it does not divide");
  }
  if (args[0].list.size() != args[1].list.size()) return no("the lists differ in length");
  std::vector<double> out;
  for (std::size_t i = 0; i < args[0].list.size(); ++i) {
    const std::optional<double> v = f(args[0].list[i], args[1].list[i]);
    if (!v) return no("it does not divide");
    out.push_back(*v);
  }
  return Datum::of(std::move(out));
}

Evaluated quotient(const Scope&, Args args) {
  return pairwise(args, [](double a, double b) { return b != 0 && std::fmod(a, b) == 0 ? std::optional(a / b) : std::nullopt; });
}
Evaluated sum(const Scope&, Args args) {
  return pairwise(args, [](double a, double b) { return std::optional(a + b); });
}
Evaluated difference(const Scope&, Args args) {
  return pairwise(args, [](double a, double b) { return std::optional(a - b); });
}

/// A shape with ones in front up to the rank.
Evaluated aligned(const Scope&, Args args) {
  if (!is_list(args, 0) || !is_number(args, 1)) return no(wants_numbers);
  const auto wanted = static_cast<std::size_t>(std::max(args[1].number, 0.0));
  if (args[0].list.size() > wanted || wanted > 64) return no("its rank is higher");
  std::vector<double> out(wanted - args[0].list.size(), 1.0);
  out.insert(out.end(), args[0].list.begin(), args[0].list.end());
  return Datum::of(std::move(out));
}

// --- indices ---------------------------------------------------------------------------------------------------------------

Evaluated grid_of(const Scope& scope, Args args) {
  const Value* indices = value_at(scope, args, 0);
  if (!indices || !is_list(args, 1)) return no(wants_value);
  const auto numbers = numbers_of(scope, id_at(args, 0));
  if (!numbers) return Datum();
  const Shape bounds(args[1].list.begin(), args[1].list.end());
  const auto grid = find_grid(*numbers, indices->shape, bounds);
  if (!grid) return Datum();
  Datum out;
  out.kind = Datum::Kind::record;
  auto record = std::make_shared<std::map<std::string, Datum, std::less<>>>();
  record->emplace("begin", Datum::of(grid->begin));
  record->emplace("end", Datum::of(grid->end));
  record->emplace("stride", Datum::of(grid->stride));
  out.record = std::move(record);
  return out;
}

Evaluated reflection_of(const Scope& scope, Args args) {
  const auto numbers = numbers_of(scope, id_at(args, 0));
  if (!numbers || !is_number(args, 1)) return Datum();
  const auto found = find_reflection(*numbers, static_cast<std::int64_t>(args[1].number));
  if (!found) return Datum();
  Datum out;
  out.kind = Datum::Kind::record;
  auto record = std::make_shared<std::map<std::string, Datum, std::less<>>>();
  record->emplace("before", Datum::of(static_cast<double>(found->before)));
  record->emplace("after", Datum::of(static_cast<double>(found->after)));
  out.record = std::move(record);
  return out;
}

// --- new constants -----------------------------------------------------------------------------------------------------------

constexpr std::int64_t largest_constant = std::int64_t{1} << 26;  // elements: more would be a weight, not a helper

/// The quantization that a constant of this type needs next to the root: its own parameters where the root is quantized.
std::optional<Quantization> root_quantization(const Scope& scope, DType wanted) {
  if (scope.root == none_id) return std::nullopt;
  const Value& root = scope.value(scope.root);
  if (root.dtype != wanted || is_float(wanted) || !root.quantization || root.quantization->scale.size() != 1) return std::nullopt;
  return root.quantization;
}

/// Why these real values cannot be stored with a quantization; empty when they can (to half a step).
std::string cannot_hold(const NewConstant& constant) {
  if (!constant.quantization || constant.quantization->scale.empty()) return "";
  Value stored;
  stored.dtype = constant.dtype, stored.shape = constant.shape, stored.quantization = constant.quantization;
  stored.constant = Constant::own(encode(constant.dtype, constant.shape, constant.numbers, &*constant.quantization));
  const auto back = decode(stored, true);
  if (!back) return "the constant cannot be quantized";
  for (std::size_t i = 0; i < back->size(); ++i)
    if (std::fabs((*back)[i] - constant.numbers[i]) > 0.501 * static_cast<double>(constant.quantization->scale[0]))
      return fmt::format("{} does not fit the quantized range of the result", constant.numbers[i]);
  return "";
}

Evaluated finished(NewConstant constant) {
  const std::string problem = cannot_hold(constant);
  if (!problem.empty()) return no(problem);
  return Datum::of(std::move(constant));
}

/// const(type, numbers) or const(type, numbers, shape)
Evaluated new_constant(const Scope& scope, Args args) {
  if (args[0].kind != Datum::Kind::text) return no("const() takes an element type first");
  const auto type = dtype_from_name(args[0].text);
  if (!type || bit_width(*type) == 0) return no(fmt::format("\"{}\" is no element type with numbers", args[0].text));
  NewConstant out;
  out.dtype = *type;
  if (is_number(args, 1)) out.numbers = {args[1].number};
  else if (is_list(args, 1)) out.numbers = args[1].list, out.shape = args[1].list_shape;
  else return no(wants_numbers);
  if (args.size() == 3) {
    if (!is_list(args, 2)) return no("const() takes a shape third");
    out.shape.assign(args[2].list.begin(), args[2].list.end());
  }
  const auto elements = element_count(out.shape);
  if (!elements || *elements > largest_constant) return no(dynamic);
  if (out.numbers.size() == 1 && *elements != 1) out.numbers.assign(static_cast<std::size_t>(*elements), out.numbers[0]);
  if (out.numbers.size() != static_cast<std::size_t>(*elements)) return no("the numbers do not fill the shape");
  out.quantization = root_quantization(scope, *type);
  return finished(std::move(out));
}

/// splat(number, %like): type, shape and quantization of %like.
Evaluated splat(const Scope& scope, Args args) {
  const Value* like = value_at(scope, args, 1);
  if (!is_number(args, 0) || !like) return no(wants_value);
  const auto elements = element_count(like->shape);
  if (!elements || *elements > largest_constant) return no(dynamic);
  NewConstant out{like->dtype, like->shape, std::vector<double>(static_cast<std::size_t>(*elements), args[0].number), like->quantization};
  if (out.quantization && (out.quantization->scale.empty() || is_float(out.dtype))) return Datum::of(std::move(out));
  // 1.0 is one step above the int8 range of a softmax (scale 1/256, zero -128): the runtime saturates there too.
  return Datum::of(std::move(out));
}

/// spread(%c, %like): the constant %c broadcast to the shape of %like, with the type and quantization of %c.
Evaluated spread(const Scope& scope, Args args) {
  const Value *from = value_at(scope, args, 0), *like = value_at(scope, args, 1);
  const ValueId source = id_at(args, 0) < 0 ? none_id : constant_source(scope.graph, id_at(args, 0));
  if (!from || !like || source == none_id) return no("it is not a constant");
  const auto numbers = decode(scope.graph.value(source), true);
  const auto elements = element_count(like->shape);
  if (!numbers || !elements || *elements > largest_constant) return no(dynamic);
  if (broadcast_shape(from->shape, like->shape) != like->shape) return no("it does not broadcast to that shape");
  NewConstant out{from->dtype, like->shape, std::vector<double>(static_cast<std::size_t>(*elements)), from->quantization};
  const std::size_t lead = like->shape.size() - from->shape.size();
  std::vector<std::size_t> stride(like->shape.size(), 0);
  for (std::size_t d = like->shape.size(), step = 1; d-- > lead;) {
    const auto n = static_cast<std::size_t>(from->shape[d - lead]);
    stride[d] = n == 1 ? 0 : step;
    step *= n;
  }
  std::vector<std::int64_t> index(like->shape.size(), 0);
  std::size_t at = 0;
  for (double& v : out.numbers) {
    v = (*numbers)[at];
    for (std::size_t d = index.size(); d-- > 0;) {
      at += stride[d];
      if (++index[d] < like->shape[d]) break;
      at -= stride[d] * static_cast<std::size_t>(like->shape[d]);
      index[d] = 0;
    }
  }
  return Datum::of(std::move(out));
}

constexpr Builtin table[] = {
    {"aligned", 2, 2, "a shape and a rank: ones in front", aligned},
    {"all_equal", 2, 2, "a constant and a number", all_equal},
    {"any", 1, 8, "conditions", any},
    {"const", 2, 3, "an element type, numbers, and optionally a shape", new_constant},
    {"count", 1, 1, "a list", count},
    {"difference", 2, 2, "two numbers or lists", difference},
    {"dim", 2, 2, "a value and an axis", dim},
    {"dtype", 1, 1, "a value", dtype},
    {"finite", 1, 1, "a value", finite},
    {"grid", 2, 2, "constant indices and the shape that they index", grid_of},
    {"in_range", 3, 3, "a value, the lowest and the highest number", in_range},
    {"is_const", 1, 1, "a value", is_const},
    {"is_input", 1, 1, "a value", is_input},
    {"is_output", 1, 1, "a value", is_output},
    {"is_quantized", 1, 1, "a value", is_quantized},
    {"is_runtime", 1, 1, "a value", is_runtime},
    {"item", 2, 2, "a list and a position", item},
    {"join", 1, 8, "numbers and lists", join},
    {"not", 1, 1, "a condition", is_not},
    {"part", 2, 3, "a list, the first position, and optionally the one behind the last", part},
    {"producer", 1, 1, "a value", producer},
    {"product", 1, 8, "numbers and lists", product},
    {"quotient", 2, 2, "two numbers or lists that divide", quotient},
    {"rank", 1, 1, "a value", rank},
    {"reflection", 2, 2, "constant indices and the length that they index", reflection_of},
    {"same", 2, 8, "values", same},
    {"shape", 1, 1, "a value", shape},
    {"size", 1, 1, "a value", size},
    {"splat", 2, 2, "a number and a value whose type and shape it gets", splat},
    {"spread", 2, 2, "a constant and a value to whose shape it is broadcast", spread},
    {"sum", 2, 2, "two numbers or lists", sum},
    {"uses", 1, 1, "a value", uses},
    {"values", 1, 1, "a constant", values},
    {"version", 1, 1, "a value: of the operator that makes it", version},
};

}  // namespace

std::span<const Builtin> builtins() { return table; }

const Builtin* find_builtin(std::string_view name) {
  const auto at = std::lower_bound(std::begin(table), std::end(table), name, [](const Builtin& b, std::string_view text) { return b.name < text; });
  return at != std::end(table) && at->name == name ? at : nullptr;
}

}  // namespace md
