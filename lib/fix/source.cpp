#include "lib/fix/source.h"

#include <fmt/format.h>

#include "lib/base/stream.h"
#include "lib/log/companions.h"

namespace md {

Result<std::vector<Log>> read_logs(const std::vector<std::string>& paths) {
  std::vector<Log> logs;
  for (const std::string& path : paths) {
    auto file = open_text_input(path);
    if (!file) return tl::make_unexpected(file.error());
    if ((*file)->bytes().empty())
      return input_error(fmt::format("{}: the log is empty", path == "-" ? "standard input" : path));
    auto log = parse_log(path, (*file)->bytes());
    if (!log) return tl::make_unexpected(log.error());
    logs.push_back(std::move(*log));
  }
  return logs;
}

Result<std::vector<FixSource>> read_sources(const std::vector<std::string>& models,
                                            const std::vector<std::string>& logs,
                                            const std::vector<std::string>& names) {
  std::vector<FixSource> sources;
  const auto add = [&](const std::string& path, const std::string& name,
                       const std::vector<std::string>& paths) -> Status {
    auto read = read_logs(paths);
    if (!read) return tl::make_unexpected(read.error());
    sources.push_back({.path = path, .name = name, .logs = std::move(*read), .document = nullptr});
    return {};
  };
  if (models.empty()) {
    if (auto status = add("", names.empty() ? "" : names.back(), logs); !status)
      return tl::make_unexpected(status.error());
    return sources;
  }
  auto paths = pair_logs(models, logs);
  if (!paths) return tl::make_unexpected(paths.error());
  auto stated = pair_names(models, names);
  if (!stated) return tl::make_unexpected(stated.error());
  for (std::size_t i = 0; i < models.size(); ++i)
    if (auto status = add(models[i], (*stated)[i], (*paths)[i]); !status)
      return tl::make_unexpected(status.error());
  return sources;
}

Status add_logs(const std::vector<std::string>& models, const std::vector<std::string>& logs, bool companions,
                RunFiles& files) {
  std::vector<std::vector<std::string>> of_models = {logs};
  if (!models.empty()) {
    auto paired = pair_logs(models, logs);
    if (!paired) return tl::make_unexpected(paired.error());
    of_models = std::move(*paired);
  }
  for (std::size_t i = 0; i < models.size(); ++i)
    if (of_models[i].empty() && companions) of_models[i] = companion_paths(models[i]);
  for (const std::vector<std::string>& of_model : of_models)
    for (const std::string& log : of_model) files.reads(log, "the log " + log);
  return {};
}

}  // namespace md
