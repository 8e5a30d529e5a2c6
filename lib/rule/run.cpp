// Running one rule over one graph.
#include "lib/rule/rule.h"

namespace md {

std::vector<DetectResult> run_rule(const Rule& rule, const DetectContext& context) {
  if (!rule.looks_at(context.model.format)) return {};
  std::vector<DetectResult> results;
  if (rule.detector) results = rule.detector(context);
  return results;
}

}  // namespace md
