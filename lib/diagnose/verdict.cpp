#include "lib/diagnose/verdict.h"

#include <algorithm>
#include <tuple>

namespace md {

std::vector<Finding> ordered_findings(std::vector<Tracked> tracked) {
  std::stable_sort(tracked.begin(), tracked.end(), [](const Tracked& a, const Tracked& b) {
    const auto key = [](const Tracked& t) {
      return std::tuple(!t.finding.caused_by.empty(), -static_cast<int>(t.finding.severity),
                        t.finding.log.empty(), t.finding.round);
    };
    return key(a) < key(b);
  });
  std::vector<Finding> findings;
  for (Tracked& known : tracked) findings.push_back(std::move(known.finding));
  return findings;
}

SeverityCounts count_found(const std::vector<Finding>& findings, std::size_t unexplained) {
  SeverityCounts counts;
  for (const auto& severity : kWords<Severity>) counts[severity.value] = 0;
  for (const Finding& finding : findings) ++counts[finding.severity];
  counts[Severity::fatal] += static_cast<int>(unexplained);
  return counts;
}

bool shows_failure(const std::vector<LogEvidence>& evidence) {
  return std::any_of(evidence.begin(), evidence.end(), [](const LogEvidence& item) {
    return (item.record->failure || !item.rules.empty()) && !item.record->benign;
  });
}

}  // namespace md
