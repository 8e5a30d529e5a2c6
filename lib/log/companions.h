// Which log, and which name, belongs to which model.
#pragma once
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/log/log.h"

namespace md {

/// The logs of each model, in the order of `models`. A wish is "FILE" (there is one model) or "MODEL=FILE",
/// where MODEL is a model's path, or as much of its end as tells it from the others. Errors (usage): a log
/// without a model among several, a model that is none of these, or that could be two.
Result<std::vector<std::vector<std::string>>> pair_logs(const std::vector<std::string>& models,
                                                        const std::vector<std::string>& wishes);

/// The name that was stated for each model, "" without one: "NAME" where there is one model, or "MODEL=NAME".
Result<std::vector<std::string>> pair_names(const std::vector<std::string>& models,
                                            const std::vector<std::string>& wishes);

/// Which of model.log, model.err, model.tflite.log and model.tflite.err are there.
std::vector<std::string> companion_paths(const std::string& model);

struct CompanionLogs {
  std::vector<Log> logs;
  std::vector<std::string> notes;  ///< which were read, which were left alone and why
};

/// Logs that lie beside a model and bear its name: for model.tflite those of model.log, model.err,
/// model.tflite.log and model.tflite.err that are there. Of two models that share a stem neither gets
/// model.log. What is empty, no text, or a report of this program is not a log, and what tells another
/// version of a runtime than all of `targets` ("litert-gpu@2.3.0") that name this runtime and a version is
/// left out. Never an error: nobody asked for these.
CompanionLogs companion_logs(const std::string& model, const std::vector<std::string>& targets);

}  // namespace md
