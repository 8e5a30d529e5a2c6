#include "lib/diagnose/diagnosis.h"

#include <algorithm>
#include <array>

namespace md {
namespace {

constexpr std::array<std::string_view, 4> kAscending = {"note", "perf", "silent", "fatal"};

}  // namespace

bool Finding::open() const {
  return !mended &&
         std::none_of(fixes.begin(), fixes.end(), [](const ReportedFix& fix) { return fix.applied; });
}

int severity_rank(std::string_view severity) {
  const auto at = std::find(kAscending.begin(), kAscending.end(), severity);
  return at == kAscending.end() ? 3 : static_cast<int>(at - kAscending.begin());
}

std::map<std::string, int> count_open(const Diagnosis& diagnosis) {
  std::map<std::string, int> counts;
  for (const std::string_view severity : kAscending) counts[std::string(severity)] = 0;
  for (const Finding& finding : diagnosis.findings)
    if (finding.open()) ++counts[finding.severity];
  counts["fatal"] +=
      static_cast<int>(diagnosis.unexplained.size() + diagnosis.unexplained_predictions.size());
  return counts;
}

std::map<std::string, int> count_accepted(const Diagnosis& diagnosis) {
  std::map<std::string, int> counts;
  for (const AcceptedFinding& accepted : diagnosis.accepted) ++counts[accepted.finding.severity];
  if (!diagnosis.accepted_lines.empty()) counts["fatal"] += static_cast<int>(diagnosis.accepted_lines.size());
  return counts;
}

void settle(Diagnosis& diagnosis, std::string_view fail_on) {
  diagnosis.after = count_open(diagnosis);
  diagnosis.fixed = static_cast<int>(std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                                   [](const Finding& finding) { return !finding.open(); }));
  if (!diagnosis.error_code.empty()) return;
  bool remains = false;
  if (fail_on != "never")
    for (const auto& [severity, count] : diagnosis.after)
      remains = remains || (count > 0 && severity_rank(severity) >= severity_rank(fail_on));
  diagnosis.exit_code = remains ? 1 : 0;
  const bool accepted = !diagnosis.accepted.empty() || !diagnosis.accepted_lines.empty();
  diagnosis.status = remains ? "findings" : diagnosis.fixed > 0 ? "fixed" : accepted ? "accepted" : "clean";
}

void fail_run(Diagnosis& diagnosis, int exit_code, std::string code, std::string message) {
  diagnosis.status = "failed";
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
