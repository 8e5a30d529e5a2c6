#include "app/subjects.h"

#include "app/inputs.h"
#include "lib/log/companions.h"

namespace md::app {

Result<std::vector<Subject>> read_subjects(const Options& options, const std::vector<std::string>& models) {
  std::vector<Subject> subjects;
  if (models.empty()) {
    auto logs = read_logs(options.logs);
    if (!logs) return tl::make_unexpected(logs.error());
    subjects.push_back({"", options.names.empty() ? "" : options.names.back(), std::move(*logs)});
    return subjects;
  }
  auto paths = pair_logs(models, options.logs);
  if (!paths) return tl::make_unexpected(paths.error());
  auto names = pair_names(models, options.names);
  if (!names) return tl::make_unexpected(names.error());
  for (std::size_t i = 0; i < models.size(); ++i) {
    auto logs = read_logs((*paths)[i]);
    if (!logs) return tl::make_unexpected(logs.error());
    subjects.push_back({models[i], (*names)[i], std::move(*logs)});
  }
  return subjects;
}

Status add_logs(const Options& options, const std::vector<std::string>& models, RunFiles& files) {
  std::vector<std::vector<std::string>> logs = {options.logs};
  if (!models.empty()) {
    auto paired = pair_logs(models, options.logs);
    if (!paired) return tl::make_unexpected(paired.error());
    logs = std::move(*paired);
  }
  for (std::size_t i = 0; i < models.size(); ++i)
    if (logs[i].empty() && !options.no_auto_log) logs[i] = companion_paths(models[i]);
  for (const std::vector<std::string>& of_model : logs)
    for (const std::string& log : of_model) files.reads(log, "the log " + log);
  return {};
}

std::vector<std::string> add_companions(const Options& options, Subject& subject) {
  if (options.no_auto_log || !subject.logs.empty()) return {};
  CompanionLogs companions = companion_logs(subject.path, options.targets);
  subject.logs = std::move(companions.logs);
  return std::move(companions.notes);
}

}  // namespace md::app
