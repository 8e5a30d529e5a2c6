#include "app/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/inputs.h"
#include "app/terminal.h"
#include "lib/diagnose/diagnose.h"
#include "lib/diagnose/output.h"

namespace md::app {
namespace {

Result<Baseline> load(const std::string& path) {
  auto file = open_input(path);
  if (!file) return tl::make_unexpected(file.error());
  const Bytes bytes = (*file)->bytes();
  return Baseline::read(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// The file to write: empty where there is none yet, and never anything but a baseline.
Result<Baseline> load_to_write(const std::string& path) {
  std::error_code error;
  if (path == "-") return usage_error("--write-baseline -: expected a file");
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return Baseline(path);
  auto baseline = load(path);
  if (!baseline || baseline->is_diagnosis())
    return usage_error(
        fmt::format("--write-baseline {}: this file is there and is no baseline{}; give another name", path,
                    baseline ? " but a diagnosis" : ": " + baseline.error().message));
  return baseline;
}

std::set<std::string> rules_left_out(const Options& options, const RuleBook& rules) {
  std::set<std::string> out;
  for (const Rule& rule : rules.rules())
    if ((!options.select.empty() && !rule_is_named(rule, options.select)) ||
        rule_is_named(rule, options.ignore))
      out.insert(rule.id);
  return out;
}

}  // namespace

Result<BaselineFiles> BaselineFiles::open(const Options& options, const RuleBook& rules) {
  BaselineFiles files;
  files.strict_ = options.strict_baseline, files.prune_ = options.prune_baseline;
  if (options.baseline.empty() && (files.strict_ || files.prune_))
    return usage_error(
        fmt::format("--{}-baseline needs --baseline FILE", files.strict_ ? "strict" : "prune"));
  if (files.prune_ && !options.write_baseline.empty())
    return usage_error(
        "--write-baseline leaves out what is no longer there: --prune-baseline does not go with it");
  files.accepted_path_ = options.baseline, files.written_path_ = options.write_baseline;
  files.today_ = today();
  files.left_out_ = rules_left_out(options, rules);
  if (!options.baseline.empty()) {
    auto baseline = load(options.baseline);
    if (!baseline) return tl::make_unexpected(baseline.error());
    if (files.prune_ && baseline->is_diagnosis())
      return usage_error(
          fmt::format("--prune-baseline: {} is a diagnosis; --write-baseline FILE makes a baseline "
                      "of what is found",
                      options.baseline));
    files.accepted_ = std::move(*baseline);
  }
  if (!options.write_baseline.empty()) {
    auto baseline = load_to_write(options.write_baseline);
    if (!baseline) return tl::make_unexpected(baseline.error());
    files.written_ = std::move(*baseline);
  }
  return files;
}

void BaselineFiles::apply(Diagnosis& run, std::string_view fail_on) {
  if (!accepted_) return;
  const BaselineUse use = accepted_->apply(run, today_, left_out_);
  settle(run, fail_on);
  if (strict_ && !prune_ && run.error_code.empty() && run.exit_code == 0 &&
      (!use.stale.empty() || !use.expired.empty())) {
    run.exit_code = 1;
    run.status = "findings";
    run.notes.push_back("--strict-baseline: a stale or expired entry fails the run");
  }
  const std::lock_guard lock(*guard_);
  use_.used.insert(use.used.begin(), use.used.end());
  use_.expired.insert(use.expired.begin(), use.expired.end());
  use_.stale.insert(use.stale.begin(), use.stale.end());
}

Status BaselineFiles::prune(bool all_ran) {
  std::set<std::size_t> gone = use_.expired;
  for (const std::size_t entry : use_.stale)
    if (!use_.used.contains(entry)) gone.insert(entry);
  if (!all_ran) {
    print_note(fmt::format("{} was not pruned: not every model could be read", accepted_path_));
    return {};
  }
  if (gone.empty()) return {};
  for (const std::size_t entry : gone)
    print_note(fmt::format("removed from {}: {}", accepted_path_, accepted_->describe(entry)));
  accepted_->remove(gone);
  return write_text(accepted_path_, accepted_->render());
}

Status BaselineFiles::write(std::span<const JudgedRun> runs, std::span<const Diagnosis> found) {
  const BaselineChange change = written_->accept(found, left_out_);
  if (auto status = write_text(written_path_, written_->render()); !status) return status;
  print_note(fmt::format("wrote {}: {} entries added, {} kept, {} removed", written_path_, change.added,
                         change.kept, change.removed));
  for (const JudgedRun& run : runs) {
    written_->apply(*run.diagnosis, today_, left_out_);
    settle(*run.diagnosis, run.fail_on);
  }
  return {};
}

Status BaselineFiles::finish(std::span<const JudgedRun> runs) {
  if (!accepted_ && !written_) return {};
  std::vector<Diagnosis> found;
  for (const JudgedRun& run : runs) found.push_back(*run.diagnosis);
  const bool all_ran =
      std::all_of(found.begin(), found.end(), [](const Diagnosis& run) { return run.error_code.empty(); });
  if (accepted_ && all_ran && !runs.empty()) {
    Diagnosis& last = *runs.back().diagnosis;
    const std::set<std::size_t> orphans = accepted_->orphans(found);
    for (const std::size_t entry : orphans) {
      use_.stale.insert(entry);
      last.notes.push_back(fmt::format("{}: {} is stale: there is no such file any more", accepted_path_,
                                       accepted_->describe(entry)));
    }
    if (!orphans.empty() && strict_ && !prune_ && last.exit_code == 0)
      last.exit_code = 1, last.status = "findings";
  }
  if (prune_)
    if (auto status = prune(all_ran); !status) return status;
  return written_ ? write(runs, found) : Status();
}

}  // namespace md::app
