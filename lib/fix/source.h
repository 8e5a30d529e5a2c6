// What one run looks at: a model with the logs and the name that belong to it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/fix/run_files.h"
#include "lib/graph/document.h"
#include "lib/log/log.h"

namespace md {

/// One model with what belongs to it alone; with neither path nor document: the logs alone.
struct FixSource {
  std::string path;  ///< reports and outputs go by it; "-" is standard input
  std::string name;  ///< what fingerprints call the model; "": its path from the working folder
  std::vector<Log> logs;
  std::shared_ptr<const Document> document;  ///< opened already; null: `path` is opened

  bool has_model() const { return document || !path.empty(); }
};

/// Reads logs in order ("-" is standard input). Errors: not readable, empty, no text.
Result<std::vector<Log>> read_logs(const std::vector<std::string>& paths);

/// Pairs logs (FILE or MODEL=FILE) and names (NAME or MODEL=NAME) with the models and reads the logs; without
/// models there is one source. Errors: a log or a name that belongs to no model, a log that cannot be read.
Result<std::vector<FixSource>> read_sources(const std::vector<std::string>& models,
                                            const std::vector<std::string>& logs,
                                            const std::vector<std::string>& names);

/// Says which logs a run over the models reads; `companions`: those that lie beside a model without one, too.
Status add_logs(const std::vector<std::string>& models, const std::vector<std::string>& logs, bool companions,
                RunFiles& files);

}  // namespace md
