// The catalogue on one page: rules/INDEX.md.
#pragma once
#include <string>
#include <vector>

#include "lib/rule/page/rule.h"

namespace md {

/// Markdown: a table for each folder of rules with id and name (a link to the page), severity, what the fix
/// is, where it fails, and how the rule is written; behind them how many of the rules with a fix need no C++
/// of their own. The same text for the same rules.
std::string rule_index(const std::vector<Rule>& rules);

/// How a rule finds and mends: "language" (rewrite blocks alone), "library" (they name a rewrite of the
/// library), "C++" (a detector of its own), "log" (it knows messages alone).
std::string_view written_in(const Rule& rule);

/// True when the rule can propose a change of the file: its page does not say "manual".
bool has_fix(const Rule& rule);

}  // namespace md
