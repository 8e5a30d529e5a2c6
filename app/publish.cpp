#include "app/publish.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/terminal.h"
#include "lib/base/nearest.h"
#include "lib/fix/output.h"
#include "lib/rule/page/page_files.h"

namespace md::app {
namespace {

bool is_for_people(ReportFormat format) {
  return format == ReportFormat::text || format == ReportFormat::concise;
}

}  // namespace

Result<ReportFormat> parse_report_format(const std::string& name) {
  if (const auto format = report_format_from_name(name)) return *format;
  return usage_error(
      fmt::format("no report format is called {}{}", name, did_you_mean(name, report_format_names())));
}

Result<std::vector<ReportFile>> parse_reports(const std::vector<std::string>& wishes, ReportFormat screen) {
  std::vector<ReportFile> files;
  bool taken = !is_for_people(screen);
  for (const std::string& wish : wishes) {
    const std::size_t equals = wish.find('=');
    if (equals == std::string::npos || equals + 1 == wish.size())
      return usage_error(
          fmt::format("--report {}: expected FORMAT=FILE, or FORMAT=- for standard output", wish));
    auto format = parse_report_format(wish.substr(0, equals));
    if (!format) return tl::make_unexpected(format.error());
    files.push_back({*format, wish.substr(equals + 1)});
    if (files.back().path != "-") continue;
    if (taken)
      return usage_error(
          fmt::format("--report {}: standard output is taken by another report; name a file", wish));
    taken = true;
  }
  return files;
}

void add_read_files(const Options& options, RunFiles& files) {
  for (const std::string& path : options.inputs) files.reads(path, "the inputs " + path);
  files.reads(options.baseline, "the baseline " + options.baseline);
  for (const std::string& config : options.config_files) files.reads(config, "the configuration " + config);
  for (const std::string& folder : options.rules_folders)
    if (const auto pages = rule_page_files(folder))  // whoever loads them says what is wrong
      for (const std::string& page : *pages) files.reads(page, "the rule page " + page);
}

Status check_report_file(const std::string& path, bool force) {
  if (path == "-") return {};
  return check_replaceable(path, force, is_our_report);
}

int publish(const Options& options, ReportFormat format, const std::vector<ReportFile>& files,
            const std::vector<ModelRun>& runs) {
  const bool people = is_for_people(format);
  const bool data_on_screen =
      !people || std::any_of(files.begin(), files.end(), [](const ReportFile& f) { return f.path == "-"; });
  std::vector<Diagnosis> diagnoses;
  int code = 0;
  bool printed = true;
  for (const ModelRun& run : runs) {
    code = worse_exit_code(code, run.diagnosis.exit_code);
    if (!run.diagnosis.error_message.empty()) print_error(run.diagnosis.error_message);
    diagnoses.push_back(run.diagnosis);
  }
  for (const ReportFile& file : files)
    if (file.path != "-")
      if (auto status = write_text(file.path, render_file(diagnoses, file.format)); !status)
        code = worse_exit_code(code, report(status.error()));
  for (const ModelRun& run : runs)
    if (data_on_screen || format != ReportFormat::text)
      print_note(run.diff);
    else
      printed = print_data(run.diff) && printed;
  for (const ReportFile& file : files)
    if (file.path == "-") printed = print_data(render(diagnoses, file.format)) && printed;
  if (!people || !options.quiet) {
    std::FILE* const screen = people && data_on_screen ? stderr : stdout;
    const std::string text = render(
        diagnoses, format,
        {.color = use_color(options.color, screen), .verbose = options.verbose, .errors_elsewhere = true});
    if (screen == stdout)
      printed = print_data(text) && printed;
    else
      fmt::print(stderr, "{}", text);
  }
  return printed ? code : 4;
}

}  // namespace md::app
