// The second half of `fix`: the comparison of the whole, and the model with its diagnosis under their names.
#pragma once
#include "lib/fix/fix.h"
#include "lib/fp16/headroom.h"

namespace md {

struct WriteSettings {
  const HeadroomOptions& values;  ///< what is known of the inputs
  double max_error = 1e-3;
  bool require_comparison = false;  ///< a whole that was not compared is a finding
  bool dry_run = false;             ///< only compared
};

/// Writes what `outcome.edited` holds (when there is something to write) to `outcome.plan`, opens it again,
/// compares it with the input, and gives model and diagnosis their names, both or none. What went wrong is in
/// the diagnosis.
void write_outputs(FixOutcome& outcome, const WriteSettings& settings);

}  // namespace md
