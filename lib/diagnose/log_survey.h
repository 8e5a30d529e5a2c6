// A folder of logs at a glance: what is known, what is only placed, what is not known at all.
#pragma once
#include <string>
#include <vector>

#include "lib/diagnose/evidence.h"
#include "lib/log/log.h"

namespace md {

/// How well a log is understood.
enum class Certainty {
  no_failure,  ///< the text shows none
  known,       ///< a rule knows its failure
  placed,      ///< no rule does, but the tool and what it did are told
  unknown      ///< a failure, and nothing is known of it
};

struct SurveyedLog {
  std::string path, tool;  ///< of the failure that leads; "" unknown
  Certainty certainty = Certainty::no_failure;
  std::string rule, line;  ///< the first rule, and the line that leads
};

SurveyedLog survey(const Log& log, const RuleIndex& index);

/// Counts by tool and certainty, most failures first, then one line a log that no rule knows.
std::string survey_table(const std::vector<SurveyedLog>& logs);

}  // namespace md
