// Whether a log is of the model that it was given with.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/diagnose/evidence.h"

namespace md {

/// The tensor that a line of the GPU delegate is about: `RESHAPE: Tensor dimensions must be less than 5.
/// a/b;4`, `ADD: Tensor "x" has bad input dims size: 6.`; "" when the line names none.
std::string_view tensor_named_in(std::string_view headline);

/// Logs that name tensors or nodes of which the model has not one. All that such a log says is taken from the
/// nodes it was tied to and marked as of another model, and a note for each log says so and what to do. A log
/// whose lines are all that is predicted for the model, but for the tensors' names, is of another export of
/// it and stays.
std::vector<std::string> disown_foreign_logs(std::vector<LogEvidence>& evidence, const Model& model,
                                             const std::vector<Prediction>& predictions);

struct PlacedEvidence {
  std::vector<LogEvidence> evidence;
  std::vector<std::string> notes;  ///< which logs are of another model
};

/// The evidence tied to the nodes of a model (attribute), but for logs that are of another one.
PlacedEvidence place_evidence(std::vector<LogEvidence> evidence, const Model& model,
                              const std::vector<Prediction>& predictions);

}  // namespace md
