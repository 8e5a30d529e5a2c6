// A diagnosis whose words can be shown: what came from models, logs, rule pages or a diagnosis read back is
// escaped for a terminal. Every reporter for people starts here; JSON and SARIF have their own escapes.
#pragma once
#include "lib/diagnose/diagnosis.h"

namespace md::reporters {

/// Every text of the diagnosis on one line and harmless (lib/base/escape.h). Log records, the change at the
/// source and the error message keep their line ends.
Diagnosis shown(Diagnosis run);

}  // namespace md::reporters
