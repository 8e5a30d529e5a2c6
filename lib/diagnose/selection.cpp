#include "lib/diagnose/selection.h"

#include <algorithm>

namespace md {

bool rule_is_named(const Rule& rule, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& named) {
    return rule.id.starts_with(named) || rule.name == named ||
           std::find(rule.aliases.begin(), rule.aliases.end(), named) != rule.aliases.end();
  });
}

std::vector<const Rule*> choose_rules(const RuleBook& rules, const std::vector<std::string>& select,
                                      const std::vector<std::string>& ignore) {
  std::vector<const Rule*> chosen;
  for (const Rule& rule : rules.rules())
    if ((select.empty() || rule_is_named(rule, select)) && !rule_is_named(rule, ignore))
      chosen.push_back(&rule);
  return chosen;
}

bool left_out_on_purpose(const std::vector<const Rule*>& hit, const std::vector<const Rule*>& chosen) {
  return std::any_of(hit.begin(), hit.end(), [&](const Rule* rule) {
    return std::find(chosen.begin(), chosen.end(), rule) == chosen.end();
  });
}

}  // namespace md
