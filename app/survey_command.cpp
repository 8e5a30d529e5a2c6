// log FOLDER: a table of what is known of many logs.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/commands.h"
#include "app/inputs.h"
#include "app/terminal.h"
#include "lib/base/escape.h"
#include "lib/diagnose/log_survey.h"

namespace md::app {
namespace {

namespace fs = std::filesystem;

/// The files below each folder, sorted; other paths as they are.
Result<std::vector<std::string>> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!is_folder(path)) {
      files.push_back(path);
      continue;
    }
    std::error_code error;
    std::vector<std::string> found;
    fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, error), end;
    for (; !error && entry != end; entry.increment(error))
      if (entry->is_regular_file(error)) found.push_back(entry->path().string());
    if (error) return input_error(fmt::format("{}: cannot list the folder: {}", path, error.message()));
    if (found.empty()) return input_error(fmt::format("{}: a folder without files", path));
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace

int run_log_survey(const Options& options) {
  if (options.output_format != "text" || !options.reports.empty())
    return report(
        {Error::Kind::usage, "a folder of logs gives a table in text only; give the files for reports"});
  auto rules = load_rules(options);
  if (!rules) return report(rules.error());
  auto files = files_of(options.logs);
  if (!files) return report(files.error());
  const RuleIndex index(*rules);
  std::vector<SurveyedLog> surveyed;
  std::size_t unread = 0;
  for (const std::string& path : *files) {
    auto logs = read_logs({path});
    if (logs)
      surveyed.push_back(survey(logs->front(), index));
    else
      print_error(logs.error().message), ++unread;
  }
  if (!print_data(escape_terminal_lines(survey_table(surveyed)))) return 4;
  if (unread == files->size()) return 2;
  const bool failures = std::any_of(surveyed.begin(), surveyed.end(), [](const SurveyedLog& log) {
    return log.certainty != Certainty::no_failure;
  });
  return failures ? 1 : 0;
}

}  // namespace md::app
