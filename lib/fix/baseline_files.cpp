#include "lib/fix/baseline_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/base/stream.h"
#include "lib/diagnose/selection.h"

namespace md {
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

std::set<std::string> rules_left_out(const DiagnoseOptions& options, const RuleBook& rules) {
  std::set<std::string> out;
  for (const Rule& rule : rules.rules())
    if ((!options.select.empty() && !rule_is_named(rule, options.select)) ||
        rule_is_named(rule, options.ignore))
      out.insert(rule.id);
  return out;
}

Status check_wish(const BaselineWish& wish) {
  if (wish.accepted.empty() && (wish.strict || wish.prune))
    return usage_error(fmt::format("--{}-baseline needs --baseline FILE", wish.strict ? "strict" : "prune"));
  if (wish.prune && !wish.written.empty())
    return usage_error(
        "--write-baseline leaves out what is no longer there: --prune-baseline does not go with it");
  return {};
}

}  // namespace

Result<BaselineFiles> BaselineFiles::open(const BaselineWish& wish, const RuleBook& rules,
                                          const DiagnoseOptions& options) {
  if (auto status = check_wish(wish); !status) return tl::make_unexpected(status.error());
  BaselineFiles files;
  files.wish_ = wish;
  files.today_ = today();
  files.left_out_ = rules_left_out(options, rules);
  if (!wish.accepted.empty()) {
    auto baseline = load(wish.accepted);
    if (!baseline) return tl::make_unexpected(baseline.error());
    if (wish.prune && baseline->is_diagnosis())
      return usage_error(
          fmt::format("--prune-baseline: {} is a diagnosis; --write-baseline FILE makes a baseline "
                      "of what is found",
                      wish.accepted));
    files.accepted_ = std::move(*baseline);
  }
  if (!wish.written.empty()) {
    auto baseline = load_to_write(wish.written);
    if (!baseline) return tl::make_unexpected(baseline.error());
    files.written_ = std::move(*baseline);
  }
  return files;
}

Accepting BaselineFiles::accepting() const {
  return {.baseline = accepted_ ? &*accepted_ : nullptr,
          .today = today_,
          .left_out = left_out_,
          .strict = wish_.strict && !wish_.prune};
}

Status BaselineFiles::prune(bool all_ran) {
  std::set<std::size_t> gone = use_.expired;
  for (const std::size_t entry : use_.stale)
    if (!use_.used.contains(entry)) gone.insert(entry);
  if (!all_ran) {
    said_.push_back(fmt::format("{} was not pruned: not every model could be read", wish_.accepted));
    return {};
  }
  if (gone.empty()) return {};
  for (const std::size_t entry : gone)
    said_.push_back(fmt::format("removed from {}: {}", wish_.accepted, accepted_->describe(entry)));
  accepted_->remove(gone);
  return write_text(wish_.accepted, accepted_->render());
}

Status BaselineFiles::write(std::span<const JudgedRun> runs, std::span<const Diagnosis> found) {
  const BaselineChange change = written_->accept(found, left_out_);
  if (auto status = write_text(wish_.written, written_->render()); !status) return status;
  said_.push_back(fmt::format("wrote {}: {} entries added, {} kept, {} removed", wish_.written, change.added,
                              change.kept, change.removed));
  for (const JudgedRun& run : runs) {
    written_->apply(*run.diagnosis, today_, left_out_);
    settle(*run.diagnosis, run.fail_on);
  }
  return {};
}

void BaselineFiles::note_orphans(std::span<const Diagnosis> found, Diagnosis& last) {
  const std::set<std::size_t> orphans = accepted_->orphans(found);
  for (const std::size_t entry : orphans) {
    use_.stale.insert(entry);
    last.notes.push_back(fmt::format("{}: {} is stale: there is no such file any more", wish_.accepted,
                                     accepted_->describe(entry)));
  }
  if (!orphans.empty() && wish_.strict && !wish_.prune && last.exit_code == 0)
    last.exit_code = 1, last.status = RunStatus::findings;
}

Result<std::vector<std::string>> BaselineFiles::finish(std::span<const JudgedRun> runs) {
  if (!accepted_ && !written_) return {};
  std::vector<Diagnosis> found;
  for (const JudgedRun& run : runs) {
    found.push_back(*run.diagnosis);
    use_.used.insert(run.use.used.begin(), run.use.used.end());
    use_.expired.insert(run.use.expired.begin(), run.use.expired.end());
    use_.stale.insert(run.use.stale.begin(), run.use.stale.end());
  }
  const bool all_ran =
      std::all_of(found.begin(), found.end(), [](const Diagnosis& run) { return run.error_code.empty(); });
  if (accepted_ && all_ran && !runs.empty()) note_orphans(found, *runs.back().diagnosis);
  if (wish_.prune)
    if (auto status = prune(all_ran); !status) return tl::make_unexpected(status.error());
  if (written_)
    if (auto status = write(runs, found); !status) return tl::make_unexpected(status.error());
  return std::move(said_);
}

}  // namespace md
