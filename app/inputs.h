// Files, folders and standard input as the command line names them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/options.h"
#include "lib/base/mapped_file.h"
#include "lib/graph/graph.h"
#include "lib/log/log.h"
#include "lib/rule/page/rule.h"

namespace md::app {

/// The file, or for "-" everything on standard input.
Result<std::shared_ptr<const MappedFile>> open_input(const std::string& path);
/// The same for logs and diagnoses, which may also come through a pipe: `<(command)`.
Result<std::shared_ptr<const MappedFile>> open_text_input(const std::string& path);

/// Folders become the model files below them, sorted. Errors: a folder without any.
Result<std::vector<std::string>> expand_models(const std::vector<std::string>& paths);

bool is_folder(const std::string& path);

Result<std::vector<Log>> read_logs(const std::vector<std::string>& paths);

/// The rule book with the user's folders. Errors also for --select and --ignore names that no rule has ("did
/// you mean").
Result<RuleBook> load_rules(const Options& options);

/// The options with what [[per-model]] says for this model; the command line goes before it, but for ignored
/// rules, which add up.
Options options_for(Options options, const std::string& model);

/// The rule by id, name or alias; else an error with the nearest.
Result<const Rule*> find_rule(const RuleBook& rules, const std::string& name);

/// "image=0:255" for each, by the input's own name. Errors: not of that form, no such input ("did you mean").
Result<std::map<std::string, std::pair<double, double>>> parse_ranges(const Model& model,
                                                                      const std::vector<std::string>& wishes);

}  // namespace md::app
