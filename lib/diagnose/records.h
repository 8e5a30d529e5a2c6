// What a run looks at, as the report shows it: targets, log records, the model, the prediction.
#pragma once
#include <string>
#include <vector>

#include "lib/diagnose/diagnosis.h"
#include "lib/diagnose/evidence.h"
#include "lib/graph/document.h"
#include "lib/target/target.h"

namespace md {

std::vector<ReportedTarget> reported_targets(const std::vector<const Target*>& targets);
std::vector<ReportedRecord> reported_records(const std::vector<LogEvidence>& evidence);
/// `path`: as the user named the file.
ReportedModel reported_model(const Document& document, const std::string& path);
/// Of the input; nodes by their place in the file.
ReportedPrediction reported_prediction(const Prediction& prediction, const Model& input);
/// "4 of 7 nodes on the GPU, 3 partitions" for a target that lets the CPU run the rest; "" where nothing is
/// left to it.
std::string fallback_note(const Target& target, const Prediction& prediction);

}  // namespace md
