// Which rules a run looks for: --select and --ignore.
#pragma once
#include <string>
#include <vector>

#include "lib/rule/page/rule.h"

namespace md {

/// True when the rule is chosen by a list of ids, prefixes, names or aliases.
bool rule_is_named(const Rule& rule, const std::vector<std::string>& names);

/// Those that `select` names (empty: all) and `ignore` does not, in the order of the book; they live in it.
std::vector<const Rule*> choose_rules(const RuleBook& rules, const std::vector<std::string>& select,
                                      const std::vector<std::string>& ignore);

/// True when one of `hit` was not chosen: what it would explain was left out on purpose.
bool left_out_on_purpose(const std::vector<const Rule*>& hit, const std::vector<const Rule*>& chosen);

}  // namespace md
