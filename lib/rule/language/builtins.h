// The functions of the rule language: a closed list. A new need is a new line here, never new syntax.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "lib/edit/builder.h"
#include "lib/rule/language/datum.h"

namespace md {

struct DetectContext;

/// Where an expression is evaluated: the graph as it is, and the new values of the replacement being built.
struct Scope {
  const Graph& graph;
  const PatchBuilder* patch = nullptr;     ///< null while matching
  ValueId root = none_id;                  ///< the value that is replaced
  const DetectContext* context = nullptr;  ///< target and model; null where only the graph is known
  NodeId node = none_id;                   ///< the operator that the root of the pattern matched
  const Value& value(ValueId id) const { return patch ? patch->value(id) : graph.value(id); }
};

/// A result, or why there is none ("%x has a dynamic dimension"): a reason for people.
using Evaluated = tl::expected<Datum, std::string>;

struct Builtin {
  std::string_view name;
  int least = 0, most = 0;     ///< number of arguments
  std::string_view arguments;  ///< "a value and an axis", for errors and the language's page
  Evaluated (*call)(const Scope&, std::span<const Datum>);
};

std::span<const Builtin> builtins();  ///< ordered by name
const Builtin* find_builtin(std::string_view name);

}  // namespace md
