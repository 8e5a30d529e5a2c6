#include "lib/diagnose/diagnosis.h"

#include <algorithm>
#include <array>

namespace md {
bool Finding::open() const {
  return !mended &&
         std::none_of(fixes.begin(), fixes.end(), [](const ReportedFix& fix) { return fix.applied; });
}

SeverityCounts count_open(const Diagnosis& diagnosis) {
  SeverityCounts counts;
  for (const auto& severity : kWords<Severity>) counts[severity.value] = 0;
  for (const Finding& finding : diagnosis.findings)
    if (finding.open()) ++counts[finding.severity];
  counts[Severity::fatal] +=
      static_cast<int>(diagnosis.unexplained.size() + diagnosis.unexplained_predictions.size());
  return counts;
}

SeverityCounts count_accepted(const Diagnosis& diagnosis) {
  SeverityCounts counts;
  for (const AcceptedFinding& accepted : diagnosis.accepted) ++counts[accepted.finding.severity];
  if (!diagnosis.accepted_lines.empty())
    counts[Severity::fatal] += static_cast<int>(diagnosis.accepted_lines.size());
  return counts;
}

void settle(Diagnosis& diagnosis, std::optional<Severity> fail_on) {
  diagnosis.after = count_open(diagnosis);
  diagnosis.fixed = static_cast<int>(std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                                   [](const Finding& finding) { return !finding.open(); }));
  if (!diagnosis.error_code.empty()) return;
  const bool remains =
      fail_on && std::any_of(diagnosis.after.begin(), diagnosis.after.end(),
                             [&](const auto& left) { return left.second > 0 && left.first >= *fail_on; });
  diagnosis.exit_code = remains ? 1 : 0;
  const bool accepted = !diagnosis.accepted.empty() || !diagnosis.accepted_lines.empty();
  diagnosis.status = remains               ? RunStatus::findings
                     : diagnosis.fixed > 0 ? RunStatus::fixed
                     : accepted            ? RunStatus::accepted
                                           : RunStatus::clean;
}

void fail_run(Diagnosis& diagnosis, int exit_code, std::string code, std::string message) {
  diagnosis.status = RunStatus::failed;
  diagnosis.exit_code = exit_code;
  diagnosis.error_code = std::move(code);
  diagnosis.error_message = std::move(message);
  if (diagnosis.before.empty()) diagnosis.before = count_open(diagnosis);
  if (diagnosis.after.empty()) diagnosis.after = count_open(diagnosis);
}

int worse_exit_code(int a, int b) {
  const auto weight = [](int code) {
    constexpr std::array<int, 5> order = {
        0, 1, 3, 2, 4};  // ascending: nothing, findings, failed check, bad input, defect
    return std::find(order.begin(), order.end(), code) - order.begin();
  };
  return weight(a) >= weight(b) ? a : b;
}

}  // namespace md
