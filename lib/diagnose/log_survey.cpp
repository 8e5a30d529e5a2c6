#include "lib/diagnose/log_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "lib/diagnose/evidence.h"

namespace md {

SurveyedLog survey(const Log& log, const RuleIndex& index) {
  SurveyedLog surveyed;
  surveyed.path = log.path;
  const std::vector<Log> logs = {log};
  const std::vector<LogEvidence> evidence = gather_evidence(logs, index);
  for (const LogEvidence& item : evidence) {
    if (item.record->benign || (item.rules.empty() && !item.record->leads)) continue;
    const bool better = !item.rules.empty() && surveyed.rule.empty();
    if (surveyed.certainty != Certainty::no_failure && !better) continue;
    surveyed.tool = item.record->tool;
    surveyed.line = item.record->shown();
    surveyed.rule = item.rules.empty() ? "" : item.rules.front()->id;
    surveyed.certainty = !item.rules.empty() ? Certainty::known
                         : !item.record->tool.empty() && item.record->told().stage != Stage::unknown
                             ? Certainty::placed
                             : Certainty::unknown;
  }
  return surveyed;
}

std::string survey_table(const std::vector<SurveyedLog>& logs) {
  std::map<std::string, std::array<int, 4>> tools;
  for (const SurveyedLog& log : logs)
    ++tools[log.certainty == Certainty::no_failure ? "(no failure)"
            : log.tool.empty()                     ? "(unknown tool)"
                                                   : log.tool][static_cast<std::size_t>(log.certainty)];
  std::vector<std::pair<std::string, std::array<int, 4>>> rows(tools.begin(), tools.end());
  const auto failures = [](const auto& row) { return row.second[1] + row.second[2] + row.second[3]; };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return failures(a) > failures(b); });
  std::string out = fmt::format("{:<20} {:>6} {:>10} {:>8} {:>11}\n", "tool", "known", "of a kind", "unknown",
                                "no failure");
  std::array<int, 4> all = {};
  for (const auto& [tool, counts] : rows) {
    out +=
        fmt::format("{:<20} {:>6} {:>10} {:>8} {:>11}\n", tool, counts[1], counts[2], counts[3], counts[0]);
    for (std::size_t i = 0; i < counts.size(); ++i) all[i] += counts[i];
  }
  out += fmt::format("{:<20} {:>6} {:>10} {:>8} {:>11}\n", "all", all[1], all[2], all[3], all[0]);
  for (const SurveyedLog& log : logs)
    if (log.certainty == Certainty::placed || log.certainty == Certainty::unknown)
      out += fmt::format("{}: {}\n", log.path, log.line.substr(0, 160));
  return out;
}

}  // namespace md
