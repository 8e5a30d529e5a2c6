// How a run ends: the findings in the order in which people should read them, counted.
#pragma once
#include <vector>

#include "lib/diagnose/evidence.h"
#include "lib/diagnose/tracking.h"

namespace md {

/// Root causes first, the worst first, and what the log names before what was only found in the graph.
std::vector<Finding> ordered_findings(std::vector<Tracked> tracked);

/// Everything that was found, mended or not, by severity (every severity has an entry). `unexplained`: lines
/// and predictions without a finding count as fatal.
SeverityCounts count_found(const std::vector<Finding>& findings, std::size_t unexplained);

/// False for logs in which nothing went wrong that matters.
bool shows_failure(const std::vector<LogEvidence>& evidence);

}  // namespace md
