// What one run looks at: models, each with the logs and the name that belong to it.
#pragma once
#include <string>
#include <vector>

#include "app/options.h"
#include "lib/base/result.h"
#include "lib/diagnose/run_files.h"
#include "lib/log/log.h"

namespace md::app {

/// One model of the run with what belongs to it alone; without a path: the logs alone.
struct Subject {
  std::string path, name;  ///< name: as stated, "" without --model-name
  std::vector<Log> logs;
};

/// Pairs the logs and names of the command line with the models and reads the logs; without models there is
/// one subject. Errors: a log or a name that belongs to no model, a log that cannot be read.
Result<std::vector<Subject>> read_subjects(const Options& options, const std::vector<std::string>& models);

/// Says which logs the run reads, those beside the models included.
Status add_logs(const Options& options, const std::vector<std::string>& models, RunFiles& files);

/// Reads the logs that lie beside the model, unless one was given for it or nobody wants them. Gives notes
/// for the report.
std::vector<std::string> add_companions(const Options& options, Subject& subject);

}  // namespace md::app
