// Functions of the rule language that make constants, or find patterns in them.
#include <fmt/format.h>

#include "lib/op/infer.h"
#include "lib/rewrite/index_pattern.h"
#include "lib/rule/language/builtin_parts.h"

namespace md::builtin {
namespace {

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

constexpr std::int64_t largest_constant = std::int64_t{1}
                                          << 26;  // elements: more would be a weight, not a helper

/// The quantization that a constant of this type needs next to the root: its own parameters where the root is
/// quantized.
std::optional<Quantization> root_quantization(const Scope& scope, DType wanted) {
  if (scope.root == none_id) return std::nullopt;
  const Value& root = scope.value(scope.root);
  if (root.dtype != wanted || is_float(wanted) || !root.quantization || root.quantization->scale.size() != 1)
    return std::nullopt;
  return root.quantization;
}

/// Why these real values cannot be stored with a quantization; empty when they can (to half a step).
std::string cannot_hold(const NewConstant& constant) {
  if (!constant.quantization || constant.quantization->scale.empty()) return "";
  Value stored;
  stored.dtype = constant.dtype, stored.shape = constant.shape, stored.quantization = constant.quantization;
  stored.constant =
      Constant::own(encode(constant.dtype, constant.shape, constant.numbers, &*constant.quantization));
  const auto back = decode(stored, true);
  if (!back) return "the constant cannot be quantized";
  for (std::size_t i = 0; i < back->size(); ++i)
    if (std::fabs((*back)[i] - constant.numbers[i]) >
        0.501 * static_cast<double>(constant.quantization->scale[0]))
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
  if (!type || bit_width(*type) == 0)
    return no(fmt::format("\"{}\" is no element type with numbers", args[0].text));
  NewConstant out;
  out.dtype = *type;
  if (is_number(args, 1))
    out.numbers = {args[1].number};
  else if (is_list(args, 1))
    out.numbers = args[1].list, out.shape = args[1].list_shape;
  else
    return no(wants_numbers);
  if (args.size() == 3) {
    if (!is_list(args, 2)) return no("const() takes a shape third");
    out.shape.assign(args[2].list.begin(), args[2].list.end());
  }
  const auto elements = element_count(out.shape);
  if (!elements || *elements > largest_constant) return no(dynamic);
  if (out.numbers.size() == 1 && *elements != 1)
    out.numbers.assign(static_cast<std::size_t>(*elements), out.numbers[0]);
  if (out.numbers.size() != static_cast<std::size_t>(*elements))
    return no("the numbers do not fill the shape");
  out.quantization = root_quantization(scope, *type);
  return finished(std::move(out));
}

/// splat(number, %like): type, shape and quantization of %like.
Evaluated splat(const Scope& scope, Args args) {
  const Value* like = value_at(scope, args, 1);
  if (!is_number(args, 0) || !like) return no(wants_value);
  const auto elements = element_count(like->shape);
  if (!elements || *elements > largest_constant) return no(dynamic);
  NewConstant out{like->dtype, like->shape,
                  std::vector<double>(static_cast<std::size_t>(*elements), args[0].number),
                  like->quantization};
  if (out.quantization && (out.quantization->scale.empty() || is_float(out.dtype)))
    return Datum::of(std::move(out));
  // 1.0 is one step above the int8 range of a softmax (scale 1/256, zero -128): the runtime saturates there
  // too.
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
  if (broadcast_shape(from->shape, like->shape) != like->shape)
    return no("it does not broadcast to that shape");
  NewConstant out{from->dtype, like->shape, std::vector<double>(static_cast<std::size_t>(*elements)),
                  from->quantization};
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
    {"const", 2, 3, "an element type, numbers, and optionally a shape", new_constant},
    {"grid", 2, 2, "constant indices and the shape that they index", grid_of},
    {"reflection", 2, 2, "constant indices and the length that they index", reflection_of},
    {"splat", 2, 2, "a number and a value whose type and shape it gets", splat},
    {"spread", 2, 2, "a constant and a value to whose shape it is broadcast", spread},
};

}  // namespace

std::span<const Builtin> constant_functions() { return table; }

}  // namespace md::builtin
