// Inside of infer: what one operator's inference sees, and the tables that the two files give.
#pragma once
#include <string_view>

#include "lib/op/infer.h"

namespace md::infer {

using Types = std::vector<ValueType>;
using Inferred = tl::expected<Types, NoType>;

struct Site {
  const Node& node;
  std::span<const Value* const> operands;
  std::size_t outputs;
  bool has(std::size_t i) const { return i < operands.size() && operands[i]; }
  const Value& at(std::size_t i) const { return *operands[i]; }
};

struct Rule {
  std::string_view op;
  Inferred (*infer)(const Site&);
  int operands;  ///< leading operands that must be there
};
std::span<const Rule> movement_rules();    ///< reshape, slice, gather, pad, ...
std::span<const Rule> arithmetic_rules();  ///< reductions, matrix products, convolutions, pools, casts, ...

/// The operands do not go together.
inline tl::unexpected<NoType> no(std::string why) {
  return tl::make_unexpected(NoType{std::move(why), true});
}
inline tl::unexpected<NoType> no(NoType why) { return tl::make_unexpected(std::move(why)); }
/// The type does not follow from what is known here.
inline tl::unexpected<NoType> unknown(std::string why) {
  return tl::make_unexpected(NoType{std::move(why), false});
}

/// The values of an integer constant operand, or why they are not known.
tl::expected<std::vector<std::int64_t>, NoType> constant_integers(const Site& site, std::size_t operand,
                                                                  std::string_view name);
/// -1 counts from the end. nullopt: out of range.
std::optional<std::size_t> axis_in(std::int64_t axis, std::size_t rank);

/// The first operand's type with another shape; its quantization stays.
inline Inferred moved(const Value& from, Shape shape) {
  return Types{{from.dtype, std::move(shape), from.quantization}};
}

}  // namespace md::infer
