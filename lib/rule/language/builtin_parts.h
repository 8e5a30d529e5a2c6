// Inside of builtins: the three tables, and what their functions share.
#pragma once
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/graph/encode.h"
#include "lib/op/constants.h"
#include "lib/rule/language/builtins.h"

namespace md::builtin {

std::span<const Builtin> value_functions();     ///< what is known about values
std::span<const Builtin> list_functions();      ///< arithmetic on numbers and lists
std::span<const Builtin> constant_functions();  ///< new constants, and patterns in constants
std::span<const Builtin> graph_functions();     ///< the graph around the match, and the target

using Args = std::span<const Datum>;

inline tl::unexpected<std::string> no(std::string why) { return tl::make_unexpected(std::move(why)); }

inline const Value* value_at(const Scope& scope, Args args, std::size_t i) {
  if (args[i].kind != Datum::Kind::value || args[i].value == none_id) return nullptr;
  return &scope.value(args[i].value);
}
inline ValueId id_at(Args args, std::size_t i) {
  return args[i].kind == Datum::Kind::value ? args[i].value : none_id;
}

inline bool is_list(Args args, std::size_t i) { return args[i].kind == Datum::Kind::list; }
inline bool is_number(Args args, std::size_t i) { return args[i].kind == Datum::Kind::number; }

inline constexpr const char* wants_value = "an operand is absent, or no value";
inline constexpr const char* wants_numbers = "expected numbers";
inline constexpr const char* dynamic = "a dimension is not known before run time";

inline std::optional<std::size_t> position(double index, std::size_t size) {
  if (index < 0) index += static_cast<double>(size);
  if (index < 0 || index >= static_cast<double>(size) || index != std::floor(index)) return std::nullopt;
  return static_cast<std::size_t>(index);
}

/// The real numbers of a constant, old or new.
inline std::optional<std::vector<double>> numbers_of(const Scope& scope, ValueId id) {
  if (id == none_id) return std::nullopt;
  if (is_new_value(id)) return decode(scope.value(id), true);
  return constant_numbers(scope.graph, id);
}

}  // namespace md::builtin
