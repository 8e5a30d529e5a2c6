// report: JSON diagnoses of earlier runs as another format.
#include "app/commands.h"
#include "app/inputs.h"
#include "app/publish.h"
#include "app/terminal.h"
#include "lib/base/stream.h"
#include "lib/fix/output.h"
#include "lib/report/report.h"

namespace md::app {

int run_report(const Options& options, const std::vector<std::string>& files, const std::string& html) {
  const auto format = parse_report_format(options.output_format);
  if (!format) return report(format.error());
  if (!html.empty()) {
    RunFiles paths;
    add_read_files(options, paths);
    for (const std::string& path : files) paths.reads(path, "the diagnosis " + path);
    paths.writes(html, "--html " + html);
    if (auto status = paths.check(); !status) return report(status.error());
    if (auto status = check_report_file(html, options.force); !status) return report(status.error());
  }
  std::vector<Diagnosis> runs;
  for (const std::string& path : files) {
    auto file = open_text_input(path);
    if (!file) return report(file.error());
    const Bytes bytes = (*file)->bytes();
    auto read = read_diagnoses(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!read) return report(read.error());
    runs.insert(runs.end(), std::make_move_iterator(read->begin()), std::make_move_iterator(read->end()));
  }
  if (html == "-") return print_data(render(runs, ReportFormat::html)) ? 0 : 4;
  if (!html.empty()) {
    if (auto status = write_text(html, render_file(runs, ReportFormat::html)); !status)
      return report(status.error());
    return 0;
  }
  return print_data(
             render(runs, *format, {.color = use_color(options.color, stdout), .verbose = options.verbose}))
             ? 0
             : 4;
}

}  // namespace md::app
