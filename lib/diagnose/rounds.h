// The only loop of the engine: look, mend, look again at what came out.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/diagnose/detection.h"
#include "lib/diagnose/tracking.h"

namespace md {

/// What each target with a table would say of the model, parallel to the targets; empty for the others.
std::vector<Prediction> predict(const Model& model, const std::vector<const Target*>& targets);

struct RoundsResult {
  std::vector<Tracked> tracked;        ///< every site that some round found, with what was tried on it
  std::optional<Model> edited;         ///< nullopt: nothing was applied
  std::vector<Prediction> after;       ///< of the model as it is at the end
  std::vector<std::string> ruled_out;  ///< rules without a log line that were looked for and are not there
  int last = 1;                        ///< the round that found nothing more to mend
};

/// At most options.max_rounds rounds of mending; without options.apply one, whose fixes are candidates.
/// `input.predictions` are those of `input.model`, to which everything in it refers.
RoundsResult run_rounds(const RoundInput& input, const std::vector<Rule>& book);

}  // namespace md
