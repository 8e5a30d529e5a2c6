// Where the reports of a run go: standard output, standard error, files.
#pragma once
#include <string>
#include <vector>

#include "app/options.h"
#include "lib/base/result.h"
#include "lib/diagnose/diagnosis.h"
#include "lib/fix/run_files.h"
#include "lib/report/report.h"

namespace md::app {

struct ModelRun {
  Diagnosis diagnosis;
  std::string diff;  ///< --diff: what the fixes change in the graph
};

struct ReportFile {
  ReportFormat format;
  std::string path;  ///< "-" is standard output
};

/// Errors: a word that is no format ("did you mean").
Result<ReportFormat> parse_report_format(const std::string& name);

/// FORMAT=FILE for each. Errors also: two reports that would share standard output.
Result<std::vector<ReportFile>> parse_reports(const std::vector<std::string>& wishes, ReportFormat screen);

/// What the options name for reading; outputs are added by those who plan them.
void add_read_files(const Options& options, RunFiles& files);

/// The file can be written, and one that is there is a report of ours unless `force`.
Status check_report_file(const std::string& path, bool force);

/// Prints and writes the reports; the exit code is the worst of the runs', 4 when standard output fails. A
/// report on standard output sends the one for people to standard error.
int publish(const Options& options, ReportFormat format, const std::vector<ReportFile>& files,
            const std::vector<ModelRun>& runs);

}  // namespace md::app
