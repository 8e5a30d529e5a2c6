#include "lib/report/next_step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lib/op/dialect.h"
#include "lib/report/wording.h"

namespace md::reporters {
namespace {

constexpr std::string_view kStandardInput = "-";

/// Python's own escapes: a path may hold quotes and backslashes.
std::string python_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// The logs of the run, each once: also those without trouble, for they tell the target. A diagnosis that was
/// read back knows those of its records alone.
std::vector<std::string> logs_of(const Diagnosis& run) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& path) {
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  };
  for (const std::string& path : run.log_paths) add(path);
  for (const ReportedRecord& record : run.log) add(record.path);
  return paths;
}

/// `fix` with the targets, logs and options of this run.
std::string fix_command(const Diagnosis& run, const std::string& model) {
  std::vector<std::string> words = {"modeldoctor", "fix", shell_path(model)};
  const std::vector<std::string> logs = logs_of(run);
  // What came through a pipe cannot be read again: the target that it told is what remains of it.
  const bool piped = std::find(logs.begin(), logs.end(), kStandardInput) != logs.end();
  for (const std::string& log : logs)
    if (log != kStandardInput) words.insert(words.end(), {"--log", shell_path(log)});
  for (const ReportedTarget& target : run.targets)
    if (target.source == TargetSource::flag || (piped && target.source != TargetSource::usual))
      words.insert(words.end(),
                   {"--target",
                    shell_word(target.version.empty() ? target.name : target.name + "@" + target.version)});
  for (const std::string& option : run.options) words.push_back(shell_word(option));
  return fmt::format("{}", fmt::join(words, " "));
}

/// What is left for somebody to do: the severest open finding, notes left out.
const Finding* severest_open(const Diagnosis& run) {
  const Finding* worst = nullptr;
  for (const Finding& finding : run.findings)
    if (finding.open() && finding.severity != Severity::note &&
        (!worst || finding.severity > worst->severity))
      worst = &finding;
  return worst;
}

struct Offers {
  bool safe = false, unsafe = false;  ///< open, and offered
  bool applied = false, applied_though_unsafe = false;
};

/// Fixes that the same run with other options would apply.
Offers offers_of(const Diagnosis& run) {
  Offers offers;
  for (const Finding& finding : run.findings) {
    const ReportedFix* fix = leading_fix(finding);
    if (fix && fix->applied) {
      offers.applied = true;
      offers.applied_though_unsafe =
          offers.applied_though_unsafe || fix->applicability == Applicability::unsafe;
    }
    if (!finding.open() || !fix || fix->needs_asking) continue;
    offers.safe = offers.safe || fix->applicability == Applicability::safe;
    offers.unsafe = offers.unsafe || fix->applicability == Applicability::unsafe;
  }
  return offers;
}

/// From a log alone: a model helps only where a fix of its file exists, and an exported program has to be
/// saved first.
std::string step_behind_log(const Diagnosis& run) {
  const Finding* mendable = nullptr;
  for (const Finding& finding : run.findings)
    if (!mendable && finding.open() && !finding.mendable_in.empty()) mendable = &finding;
  const Finding* worst = severest_open(run);
  if (!mendable) return worst ? "modeldoctor explain " + shell_word(worst->rule) : "";
  const std::string& format = mendable->mendable_in.front();
  const Dialect* dialect = find_dialect(format);
  const std::string_view what =
      dialect && !dialect->obtaining.empty() ? dialect->obtaining : "the file that this log is about";
  return fmt::format("{}    # model.{}: {}", fix_command(run, "model." + format), format, what);
}

}  // namespace

std::string shell_word(const std::string& text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@,+%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text)
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  return quoted + "'";
}

std::string shell_path(const std::string& path) {
  return shell_word(path.starts_with('-') && path != kStandardInput ? "./" + path : path);
}

std::string next_step(const Diagnosis& run) {
  if (!run.error_code.empty()) return "";
  if (!run.model) return step_behind_log(run);
  const Offers offers = offers_of(run);
  const Finding* worst = severest_open(run);
  const bool readable_again = run.model->path != kStandardInput;
  if (readable_again && run.command == "check") {
    if (offers.safe) return fix_command(run, run.model->path);
    if (offers.unsafe) return fix_command(run, run.model->path) + " --unsafe-fixes";
  }
  if (readable_again && run.command == "fix") {
    if (run.dry_run && offers.applied)
      return fix_command(run, run.model->path) + (offers.applied_though_unsafe ? " --unsafe-fixes" : "");
    if (offers.unsafe) return fix_command(run, run.model->path) + " --unsafe-fixes";
  }
  return worst ? "modeldoctor explain " + shell_word(worst->rule) : "";
}

std::vector<std::string> recipe_lines(const Diagnosis& run) {
  std::vector<std::string> lines;
  if (!run.output || !run.output->path.ends_with(".pt2") || !run.error_code.empty()) return lines;
  constexpr std::string_view stand_in = "\"model.fixed.pt2\"";
  for (std::string line : run.recipe) {
    if (const std::size_t at = line.find(stand_in); at != std::string::npos)
      line.replace(at, stand_in.size(), python_text(run.output->path));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace md::reporters
